"""Sheets of an .xlsx workbook as CSV."""
import argparse
import csv
import re
import sys
import zipfile
from xml.etree import ElementTree

NS = {"s": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}


def column_of(reference):
    number = 0
    for letter in re.match(r"[A-Z]+", reference).group():
        number = number * 26 + ord(letter) - 64
    return number - 1


def value_of(cell, shared):
    kind = cell.get("t")
    if kind == "inlineStr":
        return "".join(node.text or "" for node in cell.iterfind(".//s:t", NS))
    raw = cell.findtext("s:v", "", NS)
    return shared[int(raw)] if kind == "s" and raw else raw


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workbook")
    parser.add_argument("--list", action="store_true", help="only show the names of the sheets")
    parser.add_argument("--sheet", type=int, default=1)
    parser.add_argument("--output")
    args = parser.parse_args()
    try:
        archive = zipfile.ZipFile(args.workbook)
        names = [
            sheet.get("name")
            for sheet in ElementTree.fromstring(archive.read("xl/workbook.xml")).iterfind(".//s:sheet", NS)
        ]
    except (zipfile.BadZipFile, KeyError):
        sys.exit(f"{args.workbook} is no .xlsx workbook")
    if args.list:
        print("\n".join(f"{number}: {name}" for number, name in enumerate(names, 1)))
        return
    shared = []
    if "xl/sharedStrings.xml" in archive.namelist():
        for item in ElementTree.fromstring(archive.read("xl/sharedStrings.xml")).iterfind("s:si", NS):
            shared.append("".join(node.text or "" for node in item.iterfind(".//s:t", NS)))
    member = f"xl/worksheets/sheet{args.sheet}.xml"
    if member not in archive.namelist():
        sys.exit(f"there is no sheet {args.sheet}")
    target = open(args.output, "w", newline="", encoding="utf-8") if args.output else sys.stdout
    writer = csv.writer(target, lineterminator="\n")
    rows = 0
    for row in ElementTree.fromstring(archive.read(member)).iterfind(".//s:row", NS):
        values = []
        for cell in row.iterfind("s:c", NS):
            place = column_of(cell.get("r")) if cell.get("r") else len(values)
            values += [""] * (place - len(values)) + [value_of(cell, shared)]
        writer.writerow(values)
        rows += 1
    if args.output:
        target.close()
        print(f"{rows} rows in {args.output}")


main()
