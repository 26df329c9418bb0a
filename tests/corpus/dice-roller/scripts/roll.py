import argparse
import random
import re

parser = argparse.ArgumentParser(description="Roll dice.")
parser.add_argument("dice", help="such as d20, 2d6+3 or 4d6k3")
parser.add_argument("--times", type=int, default=1)
parser.add_argument("--seed", type=int)
parser.add_argument("--advantage", action="store_true", help="roll twice, take the better")
args = parser.parse_args()

shape = re.fullmatch(r"(\d*)d(\d+)(?:k(\d+))?([+-]\d+)?", args.dice)
if shape is None:
    parser.error(f"{args.dice!r} is no dice notation")
count, sides, keep, plus = int(shape[1] or 1), int(shape[2]), shape[3], int(shape[4] or 0)
chance = random.Random(args.seed)
for _ in range(args.times):
    rolls = [[chance.randint(1, sides) for _ in range(count)] for _ in range(2 if args.advantage else 1)]
    best = max(rolls, key=sum)
    kept = sorted(best, reverse=True)[: int(keep)] if keep else best
    print(f"{args.dice}: {best} -> {sum(kept) + plus}")
