import argparse
import json
import re
import sys
from pathlib import Path

FIELD = re.compile(r"\$\{(\w+)\}")

parser = argparse.ArgumentParser(description="Fill a template.")
parser.add_argument("template", type=Path)
parser.add_argument("values", type=Path, nargs="?")
parser.add_argument("--fields", action="store_true")
parser.add_argument("--out", type=Path)
args = parser.parse_args()
text = args.template.read_text(encoding="utf-8")
fields = sorted(set(FIELD.findall(text)))
if args.fields:
    print("\n".join(fields))
    sys.exit(0)
if args.values is None or args.out is None:
    parser.error("give the values and --out")
values = json.loads(args.values.read_text(encoding="utf-8"))
missing = [name for name in fields if name not in values]
if missing:
    print(f"missing: {', '.join(missing)}", file=sys.stderr)
    sys.exit(1)
args.out.write_text(FIELD.sub(lambda match: str(values[match[1]]), text), encoding="utf-8")
print(f"filled {len(fields)} fields, saved {args.out}")
