import argparse
import csv
import re
from collections import Counter

COMMON = set("the and for that with this from are was were has have had not but you his her its they our".split())

parser = argparse.ArgumentParser()
parser.add_argument("text")
parser.add_argument("--top", type=int, default=20)
parser.add_argument("--csv")
parser.add_argument("--all", action="store_true")
args = parser.parse_args()
with open(args.text, encoding="utf-8") as handle:
    words = re.findall(r"[^\W\d_]+", handle.read().lower())
if not args.all:
    words = [word for word in words if len(word) > 2 and word not in COMMON]
ranked = Counter(words).most_common(args.top)
if args.csv:
    with open(args.csv, "w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([("word", "count"), *ranked])
for word, count in ranked:
    print(f"{count:5} {word}")
