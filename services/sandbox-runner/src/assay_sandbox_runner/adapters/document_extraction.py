"""What a file says, as text: the program that `document_reader` runs in a process of its own.

It reads files that a skill's programs made, so nothing here is trusted: the process has bounds of
its own on memory and time, and whatever a parser stumbles over is said instead of the text.

Standard input: a line of JSON `[[path, size], …]`, then the files' bytes one after another.
Standard output: one line of JSON for each file, in the same order.
"""

import io
import json
import re
import resource
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final
from xml.etree import ElementTree as ET

MEMORY_BYTES: Final = 1024**3
CPU_SECONDS: Final = 20
MOST_CHARS: Final = 200_000
"""Of one file's text; more is cut off at the end."""
MOST_PART_BYTES: Final = 32 * 1024**2
"""Of one part of an office file, unpacked."""
MOST_PAGES: Final = 200
MOST_ROWS: Final = 2000

Read = tuple[str, str, str]
"""Kind, a note on the structure, and the text."""


def main(given: BinaryIO, out: BinaryIO) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    for path, size in json.loads(given.readline()):
        kind, note, text = read(path, given.read(size))
        cut = len(text) > MOST_CHARS
        answer = {"kind": kind, "note": note, "text": text[:MOST_CHARS], "cut": cut}
        out.write(json.dumps(answer).encode() + b"\n")
        out.flush()


def read(path: str, content: bytes) -> Read:
    """The file by what its first bytes say it is, not by its name."""
    for begins, reader in _BY_FIRST_BYTES:
        if content.startswith(begins):
            try:
                return reader(content)
            except Exception as error:  # noqa: BLE001  # any failure of a parser on hostile bytes
                return "binary", f"cannot be read as what it claims to be: {_named(error)}", ""
    return _text(content) if _is_text(content) else ("binary", _described(path), "")


def is_plain(content: bytes) -> bool:
    """Whether the file is text that no parser has to be trusted with."""
    return _is_text(content) and not content.startswith(
        tuple(begins for begins, _ in _BY_FIRST_BYTES)
    )


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _described(path: str) -> str:
    return f"no text ({path.rpartition('.')[2]})" if "." in path else "no text"


def _is_text(content: bytes) -> bool:
    if b"\0" in content[:8192] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    try:
        content[:8192].decode("utf-8")
    except UnicodeDecodeError as error:
        # A character may be cut through at the end of the sample.
        return error.start >= min(len(content), 8192) - 4 or content.startswith(
            (b"\xff\xfe", b"\xfe\xff")
        )
    return True


def _text(content: bytes) -> Read:
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    text = content.decode(encoding, errors="replace")
    return "text", f"{text.count(chr(10)) + bool(text and text[-1] != chr(10))} lines", text


# -- documents ----------------------------------------------------------------------------------


def _pdf(content: bytes) -> Read:
    from pypdf import PdfReader  # noqa: PLC0415  # only those who meet a PDF pay for it

    reader = PdfReader(io.BytesIO(content), strict=False)
    if reader.is_encrypted:
        return "pdf", "encrypted", ""
    pages = len(reader.pages)
    texts = [
        f"[page {number}]\n{reader.pages[number - 1].extract_text()}"
        for number in range(1, min(pages, MOST_PAGES) + 1)
    ]
    return "pdf", f"{pages} page{'' if pages == 1 else 's'}", "\n".join(texts)


def _zip(content: bytes) -> Read:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        if "word/document.xml" in names:
            return _docx(archive)
        if "xl/workbook.xml" in names:
            return _xlsx(archive)
        if "ppt/presentation.xml" in names:
            return _pptx(archive)
        return "archive", f"{len(names)} files", "\n".join(names[:MOST_ROWS])


def _docx(archive: zipfile.ZipFile) -> Read:
    body = _xml(archive, "word/document.xml")
    lines = [_docx_line(paragraph) for paragraph in _all(body, "p")]
    tables = sum(1 for _ in _all(body, "tbl"))
    return "docx", f"{len(lines)} paragraphs, {tables} tables", "\n".join(lines)


def _docx_line(paragraph: ET.Element) -> str:
    style = next(_all(paragraph, "pStyle"), None)
    text = "".join(
        "\t" if _tag(node) == "tab" else node.text or ""
        for node in paragraph.iter()
        if _tag(node) in ("t", "tab")
    )
    name = _attribute(style, "val") if style is not None else ""
    return f"[{name}] {text}" if name else text


def _xlsx(archive: zipfile.ZipFile) -> Read:
    names = archive.namelist()
    shared = (
        ["".join(node.text or "" for node in _all(item, "t")) for item in _all(root, "si")]
        if "xl/sharedStrings.xml" in names and (root := _xml(archive, "xl/sharedStrings.xml"))
        else []
    )
    titles = [
        _attribute(sheet, "name") for sheet in _all(_xml(archive, "xl/workbook.xml"), "sheet")
    ]
    parts = sorted(
        (name for name in names if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", name)), key=_number
    )
    sheets = [
        f"[sheet {title}]\n" + "\n".join(_rows(_xml(archive, part), shared))
        for title, part in zip(titles, parts, strict=False)
    ]
    return "xlsx", f"{len(titles)} sheets", "\n".join(sheets)


def _rows(sheet: ET.Element, shared: list[str]) -> Iterator[str]:
    for number, row in enumerate(_all(sheet, "row")):
        if number == MOST_ROWS:
            yield "…"
            return
        yield "\t".join(f"{cell.get('r', '')}={_value(cell, shared)}" for cell in _all(row, "c"))


def _value(cell: ET.Element, shared: list[str]) -> str:
    formula = next(_all(cell, "f"), None)
    value = next(_all(cell, "v"), None)
    text = (value.text or "") if value is not None else ""
    if cell.get("t") == "s" and text.isdigit() and int(text) < len(shared):
        text = shared[int(text)]
    elif cell.get("t") == "inlineStr":
        text = "".join(node.text or "" for node in _all(cell, "t"))
    return f"{text} (={formula.text})" if formula is not None and formula.text else text


def _pptx(archive: zipfile.ZipFile) -> Read:
    slides = sorted(
        (n for n in archive.namelist() if re.fullmatch(r"ppt/slides/slide\d+\.xml", n)),
        key=_number,
    )
    texts = [
        f"[slide {number}]\n"
        + "\n".join(
            "".join(node.text or "" for node in _all(paragraph, "t"))
            for paragraph in _all(_xml(archive, slide), "p")
        )
        for number, slide in enumerate(slides[:MOST_PAGES], start=1)
    ]
    return "pptx", f"{len(slides)} slides", "\n".join(texts)


def _xml(archive: zipfile.ZipFile, name: str) -> ET.Element:
    """One part, parsed. Office files hold no document type, so entities have nowhere to hide."""
    with archive.open(name) as part:
        content = part.read(MOST_PART_BYTES + 1)
    if len(content) > MOST_PART_BYTES:
        raise ValueError(f"{name} is larger than {MOST_PART_BYTES} bytes")
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise ValueError(f"{name} declares a document type")
    return ET.fromstring(content)  # noqa: S314  # no document type, so no entities


def _all(node: ET.Element, tag: str) -> Iterator[ET.Element]:
    return (each for each in node.iter() if _tag(each) == tag)


def _tag(node: ET.Element) -> str:
    return node.tag.rpartition("}")[2]


def _attribute(node: ET.Element, name: str) -> str:
    return next((v for key, v in node.attrib.items() if key.rpartition("}")[2] == name), "")


def _number(name: str) -> int:
    return int(re.findall(r"\d+", name)[-1])


# -- images -------------------------------------------------------------------------------------


def _png(content: bytes) -> Read:
    width, height = struct.unpack(">II", content[16:24])
    return "image", f"PNG, {width} × {height} pixels", ""


def _gif(content: bytes) -> Read:
    width, height = struct.unpack("<HH", content[6:10])
    return "image", f"GIF, {width} × {height} pixels", ""


def _bmp(content: bytes) -> Read:
    width, height = struct.unpack("<ii", content[18:26])
    return "image", f"BMP, {width} × {abs(height)} pixels", ""


_JPEG_MARKER: Final = 0xFF
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of the segments that hold the size of the picture."""


def _jpeg(content: bytes) -> Read:
    at = 2
    while at + 9 < len(content) and content[at] == _JPEG_MARKER:
        marker, length = content[at + 1], int.from_bytes(content[at + 2 : at + 4], "big")
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return "image", f"JPEG, {width} × {height} pixels", ""
        at += 2 + length
    return "image", "JPEG", ""


def _riff(content: bytes) -> Read:
    form = content[8:12]
    if form == b"WEBP":
        return "image", "WebP", ""
    if form == b"WAVE" and content[12:16] == b"fmt ":
        channels, rate, bytes_a_second = struct.unpack("<HII", content[22:32])
        seconds = (len(content) - 44) / bytes_a_second if bytes_a_second else 0.0
        return "audio", f"WAV, {channels} channels, {rate} Hz, {seconds:.2f} s", ""
    return "binary", "RIFF", ""


_BY_FIRST_BYTES: Final[tuple[tuple[bytes, Callable[[bytes], Read]], ...]] = (
    (b"%PDF-", _pdf),
    (b"PK\x03\x04", _zip),
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"GIF8", _gif),
    (b"BM", _bmp),
    (b"\xff\xd8\xff", _jpeg),
    (b"RIFF", _riff),
)


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
