#!/usr/bin/env python3
"""Statistics for every column of a CSV file, as JSON or Markdown."""

import argparse
import csv
import json
import statistics
import sys
from collections import Counter
from pathlib import Path

TOP_VALUES = 3


def read_table(path: Path, delimiter: str) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [line for line in csv.reader(file, delimiter=delimiter) if line]
    if not lines:
        raise ValueError(f"{path} is empty: a header line is needed")
    return lines[0], lines[1:]


def as_numbers(cells: list[str]) -> list[float] | None:
    try:
        return [float(cell) for cell in cells]
    except ValueError:
        return None


def describe(cells: list[str]) -> dict[str, object]:
    filled = [cell.strip() for cell in cells if cell.strip()]
    common = {"missing": len(cells) - len(filled)}
    numbers = as_numbers(filled)
    if numbers:
        return {
            "kind": "number",
            **common,
            "min": min(numbers),
            "max": max(numbers),
            "mean": round(statistics.fmean(numbers), 4),
            "median": round(statistics.median(numbers), 4),
        }
    counts = Counter(filled)
    return {
        "kind": "text",
        **common,
        "distinct": len(counts),
        "top": dict(counts.most_common(TOP_VALUES)),
    }


def summarize(path: Path, delimiter: str, only: str | None) -> dict[str, object]:
    header, rows = read_table(path, delimiter)
    if only is not None and only not in header:
        raise ValueError(f"no column {only!r} in {path}; there are: {', '.join(header)}")
    columns = {
        name: describe([row[index] if index < len(row) else "" for row in rows])
        for index, name in enumerate(header)
        if only is None or name == only
    }
    return {"file": path.name, "rows": len(rows), "columns": columns}


def as_markdown(summary: dict) -> str:
    lines = [f"# Summary of {summary['file']}", "", f"{summary['rows']} rows", ""]
    lines += ["| column | kind | missing | statistics |", "|---|---|---|---|"]
    for name, column in summary["columns"].items():
        rest = {key: value for key, value in column.items() if key not in ("kind", "missing")}
        shown = ", ".join(f"{key} {value}" for key, value in rest.items())
        lines.append(f"| {name} | {column['kind']} | {column['missing']} | {shown} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="CSV file with a header line")
    parser.add_argument("--output", type=Path, help="write here; .md gives Markdown, else JSON")
    parser.add_argument("--column", help="look at this column only")
    parser.add_argument("--delimiter", default=",")
    options = parser.parse_args()
    try:
        summary = summarize(options.file, options.delimiter, options.column)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        print(f"analyze: {error}", file=sys.stderr)
        return 2
    if options.output is None:
        print(json.dumps(summary, indent=2))
        return 0
    markdown = options.output.suffix == ".md"
    text = as_markdown(summary) if markdown else json.dumps(summary, indent=2) + "\n"
    options.output.write_text(text, encoding="utf-8")
    print(f"wrote {options.output}: {summary['rows']} rows, {len(summary['columns'])} columns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
