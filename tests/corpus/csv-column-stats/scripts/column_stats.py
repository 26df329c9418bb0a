#!/usr/bin/env python3
"""Figures of one numeric column of a CSV file."""

import argparse
import csv
import json
import statistics
import sys


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="CSV file with a header line")
    parser.add_argument("--column", required=True, help="name of the column")
    parser.add_argument("--delimiter", default=",")
    parser.add_argument("--digits", type=int, default=2)
    args = parser.parse_args()

    with open(args.file, newline="", encoding="utf-8") as handle:
        reader = csv.DictReader(handle, delimiter=args.delimiter)
        if args.column not in (reader.fieldnames or []):
            print(f"no column {args.column!r} in {args.file}", file=sys.stderr)
            return 2
        cells = [(row[args.column] or "").strip() for row in reader]

    try:
        numbers = [float(cell) for cell in cells if cell]
    except ValueError as problem:
        print(f"not a number: {problem}", file=sys.stderr)
        return 2
    if not numbers:
        print("the column is empty", file=sys.stderr)
        return 2
    figures = {
        "count": len(numbers),
        "missing": len(cells) - len(numbers),
        "sum": round(sum(numbers), args.digits),
        "mean": round(statistics.mean(numbers), args.digits),
        "median": round(statistics.median(numbers), args.digits),
        "min": min(numbers),
        "max": max(numbers),
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
