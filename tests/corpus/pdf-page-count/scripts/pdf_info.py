"""Version, pages, size and title of PDF files, with nothing but the standard library."""

import argparse
import json
import re
import sys
import zlib
from pathlib import Path

PAPERS = {(595, 842): "A4", (612, 792): "Letter", (420, 595): "A5"}


def unpacked(data: bytes) -> bytes:
    """The file followed by everything its compressed streams hold."""
    parts = [data]
    for match in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
        try:
            parts.append(zlib.decompress(match.group(1)))
        except zlib.error:
            continue
    return b"\n".join(parts)


def facts(path: Path) -> dict[str, object]:
    data = path.read_bytes()
    head = re.search(rb"%PDF-(\d\.\d)", data[:1024])
    if head is None:
        raise ValueError(f"{path} is no PDF")
    if b"/Encrypt" in data:
        raise ValueError(f"{path} is encrypted")
    whole = unpacked(data)
    box = re.search(rb"/MediaBox\s*\[\s*([-\d.\s]+)\]", whole)
    numbers = [float(n) for n in box.group(1).split()] if box else [0, 0, 0, 0]
    size = (round(numbers[2] - numbers[0]), round(numbers[3] - numbers[1]))
    title = re.search(rb"/Title\s*\(([^)]*)\)", whole)
    return {
        "file": str(path),
        "version": head.group(1).decode(),
        "pages": len(re.findall(rb"/Type\s*/Page(?![A-Za-z])", whole)),
        "size": f"{size[0]} x {size[1]} pt" + (f" ({PAPERS[size]})" if size in PAPERS else ""),
        "title": title.group(1).decode("latin-1") if title else "-",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    try:
        found = [facts(path) for path in args.files]
    except (OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    for one in found:
        print("\n".join(f"{name}: {value}" for name, value in one.items() if name != "file"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
