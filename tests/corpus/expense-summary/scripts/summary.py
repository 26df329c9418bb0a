import argparse
import csv
from collections import defaultdict


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("expenses")
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    totals = defaultdict(float)
    with open(args.expenses, newline="") as handle:
        for row in csv.DictReader(handle):
            totals[row["category"]] += float(row["amount"])
    lines = ["| category | amount |", "|---|---|"]
    for category in sorted(totals):
        lines.append(f"| {category} | {totals[category]:.2f} |")
    lines.append(f"| total | {sum(total.values()):.2f} |")
    with open(args.output, "w") as handle:
        handle.write("\n".join(lines) + "\n")
    print(f"saved {args.output}")


main()
