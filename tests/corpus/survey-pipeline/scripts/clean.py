import argparse
import csv

parser = argparse.ArgumentParser()
parser.add_argument("answers")
parser.add_argument("--output", required=True)
args = parser.parse_args()
with open(args.answers, newline="") as handle:
    rows = [(row["question"], row["answer"].strip().lower()) for row in csv.DictReader(handle)]
with open(args.output, "w", newline="") as handle:
    csv.writer(handle).writerows([("question", "answer"), *[row for row in rows if row[1]]])
print(f"cleaned {len(rows)} answers")
