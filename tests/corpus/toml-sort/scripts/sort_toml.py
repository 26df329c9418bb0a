# /// script
# requires-python = ">=3.9"
# dependencies = ["tomlkit>=0.12"]
# ///
import argparse

import tomlkit

parser = argparse.ArgumentParser(description="Sort the keys of a TOML file.")
parser.add_argument("file")
parser.add_argument("--output", required=True)
args = parser.parse_args()
with open(args.file, encoding="utf-8") as handle:
    document = tomlkit.load(handle)
ordered = tomlkit.document()
for key in sorted(document):
    ordered.add(key, document[key])
with open(args.output, "w", encoding="utf-8") as handle:
    tomlkit.dump(ordered, handle)
print(f"sorted {len(ordered)} keys")
