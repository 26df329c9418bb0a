import argparse
import csv
from html import escape

parser = argparse.ArgumentParser()
parser.add_argument("table")
parser.add_argument("--title", default="")
parser.add_argument("--width", type=int, default=640)
parser.add_argument("--colour", default="#4477aa")
parser.add_argument("--output", default="chart.svg")
args = parser.parse_args()

with open(args.table, newline="", encoding="utf-8") as handle:
    rows = [row for row in csv.reader(handle) if row][1:]
try:
    bars = [(row[0], float(row[1])) for row in rows]
except (ValueError, IndexError):
    parser.error("the second column must hold numbers")
if not bars:
    parser.error("there are no rows to draw")

top = max(value for _, value in bars) or 1
parts = [
    f'<svg xmlns="http://www.w3.org/2000/svg" width="{args.width}" height="{40 + 30 * len(bars)}">',
    f'<text x="8" y="22" font-size="16">{escape(args.title)}</text>',
]
for number, (label, value) in enumerate(bars):
    y = 36 + 30 * number
    length = round((args.width - 180) * value / top)
    parts.append(f'<text x="8" y="{y + 16}">{escape(label)}</text>')
    parts.append(f'<rect x="120" y="{y}" width="{length}" height="22" fill="{escape(args.colour)}"/>')
    parts.append(f'<text x="{126 + length}" y="{y + 16}">{value:g}</text>')
parts.append("</svg>")
with open(args.output, "w", encoding="utf-8") as handle:
    handle.write("\n".join(parts) + "\n")
print(f"saved {args.output} with {len(bars)} bars")
