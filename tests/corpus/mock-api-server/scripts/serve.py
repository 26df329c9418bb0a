import argparse
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser(description="Serve the collections of a JSON file.")
parser.add_argument("file")
parser.add_argument("--port", type=int, default=8765)
args = parser.parse_args()
with open(args.file, encoding="utf-8") as handle:
    data = json.load(handle)


class Handler(BaseHTTPRequestHandler):
    def reply(self, status, body):
        payload = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def do_GET(self):
        name, _, number = self.path.strip("/").partition("/")
        rows = data.get(name)
        if rows is None:
            return self.reply(404, {"error": f"no collection {name!r}"})
        if not number:
            return self.reply(200, rows)
        found = [row for row in rows if str(row.get("id")) == number]
        return self.reply(200, found[0]) if found else self.reply(404, {"error": "no such id"})

    def do_POST(self):
        if self.path == "/_stop":
            self.reply(200, {"stopped": True})
            threading.Thread(target=server.shutdown).start()
            return None
        rows = data.setdefault(self.path.strip("/"), [])
        sent = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        row = {"id": max((one.get("id", 0) for one in rows), default=0) + 1, **sent}
        rows.append(row)
        return self.reply(201, row)

    def log_message(self, *parts):
        pass


server = ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
print(f"serving {', '.join(data)} on http://127.0.0.1:{args.port}", flush=True)
server.serve_forever()
