import argparse
import random

parser = argparse.ArgumentParser()
parser.add_argument("--clerks", type=int, default=1)
parser.add_argument("--customers", type=int, default=100)
parser.add_argument("--seed", type=int)
args = parser.parse_args()
chance = random.Random(args.seed)
free = [0.0] * args.clerks
clock, waits = 0.0, []
while len(waits) < args.customers:
    clock += chance.expovariate(1.0)
    clerk = min(range(args.clerks), key=free.__getitem__)
    start = max(clock, free[clerk])
    free[clerk] = start + chance.expovariate(0.6)
    if start < clock:
        waits.append(start - clock)
print(f"average wait {sum(waits) / len(waits):.1f} minutes")
