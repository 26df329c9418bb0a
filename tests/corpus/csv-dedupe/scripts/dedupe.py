import argparse
import csv
import sys

parser = argparse.ArgumentParser(description="Remove rows with a key that was there before.")
parser.add_argument("input")
parser.add_argument("--key", action="append", required=True, help="column; may be given twice")
parser.add_argument("--keep", choices=["first", "last"], default="first")
parser.add_argument("-o", "--output", required=True)
args = parser.parse_args()

with open(args.input, newline="", encoding="utf-8") as source:
    reader = csv.DictReader(source)
    fields = list(reader.fieldnames or [])
    unknown = [key for key in args.key if key not in fields]
    if unknown:
        sys.exit(f"no such column: {', '.join(unknown)} (there are {', '.join(fields)})")
    rows = list(reader)

kept = {}
for row in rows:
    key = tuple(row[name].strip().casefold() for name in args.key)
    if args.keep == "last" or key not in kept:
        kept[key] = row

with open(args.output, "w", newline="", encoding="utf-8") as target:
    writer = csv.DictWriter(target, fields)
    writer.writeheader()
    writer.writerows(kept.values())
print(f"kept {len(kept)} of {len(rows)} rows")
