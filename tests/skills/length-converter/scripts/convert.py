"""Convert a list of imperial lengths into metres."""

import argparse
from pathlib import Path

import rulerwords

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source", type=Path)
parser.add_argument("--output", type=Path, required=True)
options = parser.parse_args()
rows = ["length,unit,metres"]
for line in options.source.read_text().splitlines():
    words = line.split()
    if len(words) == 2 and words[1] in rulerwords.METRES:
        rows.append(f"{words[0]},{words[1]},{rulerwords.metres(float(words[0]), words[1])}")
options.output.write_text("\n".join(rows) + "\n")
print(f"{len(rows) - 1} lengths converted")
