import argparse
import csv
import sqlite3
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description="Query a SQLite file, read-only.")
parser.add_argument("database", type=Path)
parser.add_argument("sql", nargs="?")
parser.add_argument("--tables", action="store_true")
parser.add_argument("--csv")
args = parser.parse_args()
if not args.tables and not args.sql:
    parser.error("give a query or --tables")
if not args.database.exists():
    parser.error(f"{args.database} is not there")
sql = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name" if args.tables else args.sql
try:
    connection = sqlite3.connect(f"{args.database.resolve().as_uri()}?mode=ro", uri=True)
    cursor = connection.execute(sql)
    rows = cursor.fetchall()
except sqlite3.Error as problem:
    sys.exit(f"SQLite: {problem}")
header = [column[0] for column in cursor.description]
if args.csv:
    with open(args.csv, "w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([header, *rows])
widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
for row in [header, *rows]:
    print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
