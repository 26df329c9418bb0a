import argparse
import csv
import json
from collections import Counter
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("cleaned", type=Path)
parser.add_argument("--output", required=True)
args = parser.parse_args()
codebook = json.loads(args.cleaned.with_suffix(".codebook.json").read_text())
with args.cleaned.open(newline="") as handle:
    counts = Counter((row["question"], row["answer"]) for row in csv.DictReader(handle))
result = {f"{codebook[question]}: {answer}": count for (question, answer), count in counts.items()}
with open(args.output, "w") as handle:
    json.dump(result, handle, indent=1)
