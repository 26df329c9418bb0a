import argparse
import re

parser = argparse.ArgumentParser(description="Scale the amounts of a recipe.")
parser.add_argument("recipe")
parser.add_argument("--from", dest="old", type=float, required=True, metavar="SERVINGS")
parser.add_argument("--to", dest="new", type=float, required=True, metavar="SERVINGS")
args = parser.parse_args()
scaled = 0
with open(args.recipe, encoding="utf-8") as handle:
    for line in handle:
        amount = re.match(r"\s*(\d+(?:\.\d+)?)\s*(\S+)\s+(.*)", line)
        if amount:
            value = float(amount[1]) * args.new / args.old
            if amount[2] == "pcs":
                value = round(value * 2) / 2
            scaled += 1
            print(f"{value:g} {amount[2]} {amount[3]}")
        else:
            print(line.rstrip())
if not scaled:
    parser.error("no line starts with an amount")
