import argparse
import sys
import time
import urllib.request

parser = argparse.ArgumentParser(description="Wait until an address answers.")
parser.add_argument("url")
parser.add_argument("--wait", type=float, default=20)
args = parser.parse_args()
until = time.monotonic() + args.wait
while time.monotonic() < until:
    try:
        with urllib.request.urlopen(args.url, timeout=2) as answer:
            print(f"healthy: {answer.status}")
            sys.exit(0)
    except OSError:
        time.sleep(0.5)
sys.exit(f"{args.url} does not answer")
