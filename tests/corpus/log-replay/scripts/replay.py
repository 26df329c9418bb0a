import argparse
import sys
import time
from datetime import datetime

parser = argparse.ArgumentParser(description="Print a log with its pauses.")
parser.add_argument("log")
parser.add_argument("--speed", type=float, default=1)
parser.add_argument("--output")
args = parser.parse_args()
target = open(args.output, "a", encoding="utf-8") if args.output else sys.stdout
before, count = None, 0
for line in open(args.log, encoding="utf-8"):
    try:
        stamp = datetime.fromisoformat(line.split()[0])
    except (ValueError, IndexError):
        continue
    if before is not None:
        time.sleep(max(0.0, (stamp - before).total_seconds()) / args.speed)
    before = stamp
    count += 1
    print(line.rstrip(), file=target, flush=True)
if not count:
    sys.exit("no line starts with a time stamp")
print(f"replayed {count} lines")
