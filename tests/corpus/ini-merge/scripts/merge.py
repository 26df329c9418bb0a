import argparse
import configparser

parser = argparse.ArgumentParser()
parser.add_argument("defaults")
parser.add_argument("local")
parser.add_argument("--output", required=True)
args = parser.parse_args()

merged = configparser.ConfigParser()
merged.read(args.defaults)
local = configparser.ConfigParser()
local.read(args.local)
for section in local.sections():
    if not merged.has_section(section):
        merged.add_section(section)
    for key, value in local.items(section)
        before = merged.get(section, key, fallback=None)
        if before != value:
            print(f"[{section}] {key}: {before} -> {value}")
        merged.set(section, key, value)
with open(args.output, "w") as handle:
    merged.write(handle)
