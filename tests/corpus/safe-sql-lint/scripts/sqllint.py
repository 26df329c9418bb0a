import argparse
import json
import re
import sys

RULES = {
    "update-all": re.compile(r"^\s*(?:update|delete\s+from)\b(?!.*\bwhere\b)", re.I | re.S),
    "drop-table": re.compile(r"^\s*drop\s+table\b", re.I),
    "not-null": re.compile(r"\badd\s+column\b(?=.*\bnot\s+null\b)(?!.*\bdefault\b)", re.I | re.S),
}

parser = argparse.ArgumentParser(description="Find risky statements in SQL files.")
parser.add_argument("files", nargs="+")
parser.add_argument("--format", choices=["text", "json"], default="text")
parser.add_argument("--strict", action="store_true")
args = parser.parse_args()

findings, statements = [], 0
for path in args.files:
    with open(path, encoding="utf-8") as handle:
        text = re.sub(r"--[^\n]*", "", handle.read())
    for statement in filter(str.strip, text.split(";")):
        statements += 1
        for rule, pattern in RULES.items():
            if pattern.search(statement):
                findings.append({"file": path, "rule": rule, "statement": " ".join(statement.split())})
if args.format == "json":
    print(json.dumps(findings, indent=2))
else:
    for finding in findings:
        print(f"{finding['file']}: {finding['rule']}: {finding['statement']}")
    print(f"{statements} statements, {len(findings)} findings")
sys.exit(1 if findings and args.strict else 0)
