import argparse
import itertools

import textdistance

parser = argparse.ArgumentParser(description="Find similar names.")
parser.add_argument("names")
parser.add_argument("--threshold", type=float, default=0.85)
args = parser.parse_args()
with open(args.names, encoding="utf-8") as handle:
    names = sorted({line.strip() for line in handle if line.strip()})
for one, two in itertools.combinations(names, 2):
    likeness = textdistance.jaro_winkler(one, two)
    if likeness >= args.threshold:
        print(f"{likeness:.2f}\t{one}\t{two}")
