import argparse
import sys
import time
import urllib.error
import urllib.request

parser = argparse.ArgumentParser(description="Ask the mock server, which may still be starting.")
parser.add_argument("--port", type=int, default=8765)
parser.add_argument("method")
parser.add_argument("path")
parser.add_argument("body", nargs="?")
args = parser.parse_args()

request = urllib.request.Request(
    f"http://127.0.0.1:{args.port}{args.path}",
    method=args.method,
    data=args.body.encode() if args.body else None,
)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for attempt in range(50):
    try:
        with opener.open(request, timeout=5) as answer:
            print(answer.read().decode())
            break
    except urllib.error.HTTPError as problem:
        sys.exit(f"{problem.code}: {problem.read().decode()}")
    except urllib.error.URLError:
        time.sleep(0.1)
else:
    sys.exit(f"nobody answers on port {args.port}")
