"""Price of a parcel by the tariff in SKILL.md."""
import argparse
import csv
import math
import re
from decimal import Decimal
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "SKILL.md"
ROW = re.compile(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
TARIFF = {int(zone): (Decimal(first), Decimal(more)) for zone, first, more in ROW.findall(TABLE.read_text())}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--zone", type=int)
parser.add_argument("--weight", type=float, help="kilograms")
parser.add_argument("--list", help="CSV file with the columns zone and weight")
parser.add_argument("--output", default="prices.csv")
args = parser.parse_args()


def price(zone, weight):
    if zone not in TARIFF:
        parser.error(f"there is no zone {zone}")
    first, more = TARIFF[zone]
    kilograms = max(1, math.ceil(weight))
    return kilograms, first + (kilograms - 1) * more


if args.list:
    with open(args.list, newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    if not rows or not {"zone", "weight"} <= set(rows[0]):
        parser.error(f"{args.list} needs the columns zone and weight")
    with open(args.output, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["zone", "weight", "price"])
        for row in rows:
            writer.writerow([row["zone"], row["weight"], price(int(row["zone"]), float(row["weight"]))[1]])
    print(f"{len(rows)} prices in {args.output}")
elif args.zone is not None and args.weight is not None:
    kilograms, amount = price(args.zone, args.weight)
    print(f"zone {args.zone}, {kilograms} kg: {amount}")
else:
    parser.error("give --zone and --weight, or --list")
