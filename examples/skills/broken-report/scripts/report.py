#!/usr/bin/env python3
"""Totals per category of a JSON list of entries, as a Markdown report."""

import argparse
import json
import sys
from pathlib import Path


def totals(entries):
    sums = {}
    for entry in entries:
        sums[entry["category"]] = sums.get(entry["category"], 0) + entry["amount"]
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    sums = totals(json.loads(options.file.read_text(encoding="utf-8")))
    report = render_table(sums)
    if options.output is None:
        print(report)
    else:
        options.output.write_text(report, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
