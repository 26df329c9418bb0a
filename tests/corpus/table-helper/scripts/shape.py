import csv
import sys

with open(sys.argv[1], newline="", encoding="utf-8") as handle:
    rows = list(csv.reader(handle))
print(f"{max(len(rows) - 1, 0)} rows, {len(rows[0]) if rows else 0} columns")
