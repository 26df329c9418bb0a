import argparse
import json
import struct
import sys

KINDS = {0: "greyscale", 2: "colour", 3: "palette", 4: "greyscale with alpha", 6: "colour with alpha"}

parser = argparse.ArgumentParser(description="Facts about PNG images.")
parser.add_argument("images", nargs="+")
parser.add_argument("--json", action="store_true")
parser.add_argument("--max-width", type=int)
args = parser.parse_args()

too_wide = False
for path in args.images:
    with open(path, "rb") as handle:
        data = handle.read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        sys.exit(f"{path} is no PNG image")
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    texts, at = {}, 8
    while at + 8 <= len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"tEXt":
            key, _, value = data[at + 8 : at + 8 + length].partition(b"\0")
            texts[key.decode("latin-1")] = value.decode("latin-1")
        at += 12 + length
    facts = {"file": path, "width": width, "height": height, "depth": depth, "kind": KINDS[kind], "texts": texts}
    if args.json:
        print(json.dumps(facts))
    else:
        print(f"{path}: {width} x {height}, {depth} bit, {KINDS[kind]}")
    too_wide |= args.max_width is not None and width > args.max_width
sys.exit(1 if too_wide else 0)
