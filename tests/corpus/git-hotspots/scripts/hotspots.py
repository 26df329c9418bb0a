#!/usr/bin/env python3
"""Count changes and authors of each file in a repository's history."""

import argparse
import csv
import fnmatch
import subprocess
import sys
from collections import Counter, defaultdict


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", default=".")
    parser.add_argument("--since", default="10 years ago")
    parser.add_argument("--glob", default="*")
    parser.add_argument("--top", type=int, default=50)
    parser.add_argument("--out", default="hotspots.csv")
    args = parser.parse_args()

    log = subprocess.run(
        ["git", "-C", args.repo, "log", f"--since={args.since}", "--name-only", "--format=%x01%an"],
        capture_output=True,
        text=True,
        check=False,
    )
    if log.returncode:
        print(log.stderr.strip(), file=sys.stderr)
        return 3
    authors = defaultdict(Counter)
    author = ""
    for line in log.stdout.splitlines():
        if line.startswith("\x01"):
            author = line[1:]
        elif line and fnmatch.fnmatch(line, args.glob):
            authors[line][author] += 1

    ranked = sorted(authors.items(), key=lambda item: (-item[1].total(), item[0]))[: args.top]
    with open(args.out, "w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["path", "changes", "authors", "main_author", "share"])
        for path, people in ranked:
            name, most = people.most_common(1)[0]
            writer.writerow([path, people.total(), len(people), name, round(most / people.total(), 2)])
    print(f"{len(ranked)} files in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
