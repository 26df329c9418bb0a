"""Sort a JSON list of records by one field."""

import argparse
import json
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source", type=Path)
parser.add_argument("--key", required=True)
parser.add_argument("--output", type=Path, required=True)
options = parser.parse_args()
records = json.loads(options.source.read_text())
records.sort(key=lambda record: record[options.key])
options.output.write_text(json.dumps(records, indent=2) + "\n")
print(f"{len(records)} records sorted by {options.key}")
