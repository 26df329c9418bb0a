import argparse
import json

WORDS = {"bug": ("crash", "error", "fail", "broken"), "question": ("how", "why", "?"), "feature": ("add", "support", "allow")}

parser = argparse.ArgumentParser(description="Sort issues by the words of their titles.")
parser.add_argument("issues")
parser.add_argument("--output", default="triage.md")
args = parser.parse_args()
with open(args.issues, encoding="utf-8") as handle:
    issues = json.load(handle)
lines = ["| issue | kind | title |", "|---|---|---|"]
for issue in issues:
    title = issue["title"].lower()
    kind = next((kind for kind, words in WORDS.items() if any(word in title for word in words)), "other")
    lines.append(f"| #{issue['number']} | {kind} | {issue['title']} |")
with open(args.output, "w", encoding="utf-8") as handle:
    handle.write("\n".join(lines) + "\n")
print(f"{len(issues)} issues in {args.output}")
