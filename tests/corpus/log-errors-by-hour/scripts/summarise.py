import argparse
import json
import sys
from collections import Counter

parser = argparse.ArgumentParser(description="Summarise extracted errors as Markdown.")
parser.add_argument("errors", help="JSON file, or - for standard input")
parser.add_argument("--output")
args = parser.parse_args()
if args.errors == "-":
    errors = json.load(sys.stdin)
else:
    with open(args.errors, encoding="utf-8") as handle:
        errors = json.load(handle)
lines = [f"# {len(errors)} errors", "", "| hour | errors |", "|---|---|"]
lines += [f"| {hour} | {count} |" for hour, count in sorted(Counter(one["hour"] for one in errors).items())]
lines += ["", "| message | errors |", "|---|---|"]
lines += [f"| {text} | {count} |" for text, count in Counter(one["message"] for one in errors).most_common(10)]
report = "\n".join(lines) + "\n"
if args.output:
    with open(args.output, "w", encoding="utf-8") as handle:
        handle.write(report)
    print(f"report in {args.output}")
else:
    print(report, end="")
