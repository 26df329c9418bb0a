import argparse
import socket
import sys

parser = argparse.ArgumentParser(description="Peek into a Redis list.")
parser.add_argument("queue")
parser.add_argument("--host", default="localhost")
parser.add_argument("--port", type=int, default=6379)
args = parser.parse_args()
try:
    link = socket.create_connection((args.host, args.port), timeout=3)
except OSError as problem:
    sys.exit(f"cannot reach Redis at {args.host}:{args.port}: {problem}")
stream = link.makefile("rwb")


def ask(*words):
    stream.write(b"*%d\r\n" % len(words))
    for word in words:
        data = word.encode()
        stream.write(b"$%d\r\n%s\r\n" % (len(data), data))
    stream.flush()
    return answer()


def answer():
    line = stream.readline().strip()
    if line[:1] == b"-":
        sys.exit(line[1:].decode())
    if line[:1] == b":":
        return int(line[1:])
    if line[:1] == b"$":
        data = stream.read(int(line[1:]) + 2)
        return data[:-2].decode()
    return [answer() for _ in range(int(line[1:]))]


print(f"{ask('LLEN', args.queue)} jobs in {args.queue}")
for job in ask("LRANGE", args.queue, "0", "2"):
    print(job)
