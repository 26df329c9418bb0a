"""Convert a CSV table to a Markdown table."""

import csv
import sys
from pathlib import Path

with Path(sys.argv[1]).open(newline="") as source:
    header, *rows = csv.reader(source)
print("| " + " | ".join(header) + " |")
print("|" + "---|" * len(header))
for row in rows:
    print("| " + " | ".join(row) + " |")
