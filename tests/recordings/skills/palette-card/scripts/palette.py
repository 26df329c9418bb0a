"""Draw a list of colours as a PNG, one block for each."""

import argparse
import struct
import zlib
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("colours", type=Path)
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--block", type=int, default=40)
options = parser.parse_args()
lines = [line.strip() for line in options.colours.read_text().splitlines()]
codes = [line.lstrip("#") for line in lines if line and not line.startswith(";")]
row = b"".join(bytes.fromhex(code) * options.block for code in codes)
width, height = options.block * len(codes), options.block


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
pixels = zlib.compress((b"\0" + row) * height)
options.output.write_bytes(
    b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
)
print(f"{len(codes)} colours, {width} x {height} pixels")
