import argparse
import json
import re
import sys

LINE = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d):\S*\s+(?:\[?)(ERROR|CRITICAL|FATAL)\b\]?:?\s*(.*)")

parser = argparse.ArgumentParser(description="Take the errors out of a log.")
parser.add_argument("log")
parser.add_argument("--output")
args = parser.parse_args()
errors = []
with open(args.log, encoding="utf-8", errors="replace") as handle:
    for line in handle:
        found = LINE.search(line)
        if found:
            errors.append({"hour": f"{found[1]} {found[2]}h", "level": found[3], "message": found[4].strip()})
text = json.dumps(errors, indent=1)
if args.output:
    with open(args.output, "w", encoding="utf-8") as handle:
        handle.write(text)
    print(f"{len(errors)} errors in {args.output}")
else:
    sys.stdout.write(text)
