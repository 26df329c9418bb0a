import argparse
import os
import random

parser = argparse.ArgumentParser(description="Write a large CSV file.")
parser.add_argument("--gigabytes", type=float, required=True)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--output", required=True)
args = parser.parse_args()
chance = random.Random(args.seed)
block = "".join(f"{i},{chance.random():.6f},{chance.choice('abc')}\n" for i in range(40000)).encode()
left = int(args.gigabytes * 10**9)
with open(args.output, "wb") as handle:
    os.posix_fallocate(handle.fileno(), 0, left)  # better no room now than after an hour
    while left > 0:
        left -= handle.write(block[:left] if left < len(block) else block)
print(f"wrote {args.output}")
