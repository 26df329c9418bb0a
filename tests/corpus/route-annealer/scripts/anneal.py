import argparse
import csv
import math
import random
import time

parser = argparse.ArgumentParser(description="Search a short round trip.")
parser.add_argument("places")
parser.add_argument("--cpu-seconds", type=float, default=75)
parser.add_argument("--output", required=True)
args = parser.parse_args()
with open(args.places, newline="") as handle:
    places = [(row["name"], float(row["x"]), float(row["y"])) for row in csv.DictReader(handle)]
if len(places) < 3:
    parser.error("give at least three places")


def length(tour):
    return sum(math.dist(one[1:], two[1:]) for one, two in zip(tour, tour[1:] + tour[:1]))


chance = random.Random(1)
tour = best = places[:]
while (used := time.process_time() / args.cpu_seconds) < 1:
    for _ in range(1000):
        i, j = sorted(chance.sample(range(len(places)), 2))
        other = tour[:i] + tour[i : j + 1][::-1] + tour[j + 1 :]
        worse = length(other) - length(tour)
        if worse < 0 or chance.random() < math.exp(-worse / max(1e-6, 5 * (1 - used))):
            tour = other
    best = min(best, tour, key=length)
with open(args.output, "w", newline="") as handle:
    csv.writer(handle).writerows(best)
print(f"{len(best)} places, length {length(best):.2f}")
