"""Run a command while a server is up."""
import argparse
import shlex
import socket
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--server", required=True, help="command that starts the server")
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--timeout", type=float, default=20)
parser.add_argument("command", nargs=argparse.REMAINDER, help="-- and the command to run")
args = parser.parse_args()
command = args.command[1:] if args.command[:1] == ["--"] else args.command
if not command:
    parser.error("give a command behind --")

server = subprocess.Popen(
    shlex.split(args.server), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
try:
    until = time.monotonic() + args.timeout
    while True:
        try:
            socket.create_connection(("127.0.0.1", args.port), timeout=1).close()
            break
        except OSError:
            if server.poll() is not None or time.monotonic() > until:
                sys.exit("the server did not come up")
            time.sleep(0.05)
    code = subprocess.run(command, check=False).returncode
finally:
    server.terminate()
    server.wait()
sys.exit(code)
