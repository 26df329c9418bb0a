"""Join two CSV files on one column."""
import argparse
import csv
import sys


def read(path):
    with open(path, newline="", encoding="utf-8") as handle:
        reader = csv.DictReader(handle)
        return list(reader.fieldnames or []), list(reader)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("left")
    parser.add_argument("right")
    parser.add_argument("--on", required=True, metavar="COLUMN")
    parser.add_argument("--how", choices=("inner", "left"), default="inner")
    args = parser.parse_args()

    left_fields, left = read(args.left)
    right_fields, right = read(args.right)
    for path, fields in ((args.left, left_fields), (args.right, right_fields)):
        if args.on not in fields:
            parser.error(f"{path} has no column {args.on!r}")
    extra = [name for name in right_fields if name != args.on]
    shown = {name: f"{name}_right" if name in left_fields else name for name in extra}
    partners = {}
    for row in right:
        partners.setdefault(row[args.on], []).append(row)

    writer = csv.DictWriter(sys.stdout, [*left_fields, *shown.values()], lineterminator="\n")
    writer.writeheader()
    for row in left:
        found = partners.get(row[args.on], [{}] if args.how == "left" else [])
        for partner in found:
            writer.writerow(row | {shown[name]: partner.get(name, "") for name in extra})


if __name__ == "__main__":
    main()
