import argparse
import json


def flat(value, prefix, joint):
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {prefix: value}
    found = {}
    for key, inner in items:
        found |= flat(inner, f"{prefix}{joint}{key}" if prefix else str(key), joint)
    return found


parser = argparse.ArgumentParser(description="Flatten nested JSON.")
parser.add_argument("source")
parser.add_argument("--joint", default=".", help="what stands between the keys")
parser.add_argument("--output", required=True)
args = parser.parse_args()
with open(args.source, encoding="utf-8") as handle:
    document = json.load(handle)
with open(args.output, "w", encoding="utf-8") as handle:
    json.dump(flat(document, "", args.joint), handle, indent=2)
print(f"saved {args.output}")
