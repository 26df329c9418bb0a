#!/usr/bin/env -S uv run
# /// script
# requires-python = ">=3.9"
# dependencies = []
# ///
"""Compute the next semantic version."""
import argparse
import re
import sys

VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([a-z]+)\.(\d+))?")


def bumped(text, part):
    match = VERSION.search(text)
    if match is None:
        sys.exit(f"no version in {text.strip()!r}")
    major, minor, patch = (int(number) for number in match.groups()[:3])
    tag, number = match.group(4), int(match.group(5) or 0)
    if part == "pre":
        if tag is None:
            new = f"{major}.{minor}.{patch + 1}-rc.1"
        else:
            new = f"{major}.{minor}.{patch}-{tag}.{number + 1}"
    else:
        new = {
            "major": f"{major + 1}.0.0",
            "minor": f"{major}.{minor + 1}.0",
            "patch": f"{major}.{minor}.{patch if tag else patch + 1}",
        }[part]
    return new, text[: match.start()] + new + text[match.end() :]


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("version", nargs="?")
parser.add_argument("part", choices=["major", "minor", "patch", "pre"])
parser.add_argument("--in-file", metavar="FILE")
args = parser.parse_args()
if args.in_file:
    with open(args.in_file, encoding="utf-8") as handle:
        text = handle.read()
    new, changed = bumped(text, args.part)
    with open(args.in_file, "w", encoding="utf-8") as handle:
        handle.write(changed)
elif args.version:
    new, _ = bumped(args.version, args.part)
else:
    parser.error("give a version or --in-file")
print(new)
