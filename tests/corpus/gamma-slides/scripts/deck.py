import argparse
import json
import os
import sys
import urllib.request

parser = argparse.ArgumentParser(description="Make a deck with the Gamma API.")
parser.add_argument("outline")
parser.add_argument("--cards", type=int, default=10)
parser.add_argument("--output", default="deck.json")
args = parser.parse_args()
key = os.environ.get("GAMMA_API_KEY", "")
if not key or key == "YOUR_KEY":
    print("error: GAMMA_API_KEY is not set", file=sys.stderr)
    sys.exit(1)
with open(args.outline, encoding="utf-8") as handle:
    body = {"inputText": handle.read(), "numCards": args.cards}
request = urllib.request.Request(
    "https://public-api.gamma.app/v0.2/generations",
    data=json.dumps(body).encode(),
    headers={"X-API-KEY": key, "Content-Type": "application/json"},
)
with urllib.request.urlopen(request, timeout=60) as answer:
    result = json.load(answer)
with open(args.output, "w", encoding="utf-8") as handle:
    json.dump(result, handle)
print(result.get("generationId"))
