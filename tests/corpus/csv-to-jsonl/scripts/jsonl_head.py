import argparse
import json
import sys

parser = argparse.ArgumentParser(description="Show the first objects of JSON Lines on standard input.")
parser.add_argument("--lines", type=int, default=5)
count = parser.parse_args().lines
for number, line in enumerate(sys.stdin):
    if number < count:
        print(json.dumps(json.loads(line), indent=2, ensure_ascii=False))
