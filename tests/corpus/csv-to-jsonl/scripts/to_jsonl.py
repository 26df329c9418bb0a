import argparse
import csv
import json


def value_of(cell):
    if cell == "":
        return None
    if cell in ("true", "false"):
        return cell == "true"
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


parser = argparse.ArgumentParser(description="Print the rows of a CSV file as JSON Lines.")
parser.add_argument("file")
parser.add_argument("--strings", action="store_true", help="leave every cell as text")
args = parser.parse_args()
with open(args.file, newline="", encoding="utf-8-sig") as handle:
    for row in csv.DictReader(handle):
        if not args.strings:
            row = {name: value_of(cell or "") for name, cell in row.items()}
        print(json.dumps(row, ensure_ascii=False))
