"""Small good files that are no text: documents, pictures, sound, archives, databases.

Each is made from the standard library alone and is the same whenever it is made again.
"""

import gzip
import io
import sqlite3
import struct
import tarfile
import wave
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

Rows = Sequence[Mapping[str, str | int | float]]

_ZIP_TIME: Final = (2025, 1, 15, 12, 0, 0)
_OFFICE: Final = "http://schemas.openxmlformats.org"
_TYPES: Final = f"{_OFFICE}/package/2006/content-types"
_RELATIONS: Final = f"{_OFFICE}/package/2006/relationships"
_DOCUMENT: Final = f"{_OFFICE}/officeDocument/2006/relationships"
_XML: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def pdf(lines: Sequence[str], rows: Rows) -> bytes:
    """Two pages of A4 with the lines on each."""
    del rows
    shown = b" T* ".join(b"(%s) Tj" % line.encode("ascii", "replace")[:90] for line in lines)
    stream = b"BT /F1 12 Tf 72 770 Td 16 TL %s ET" % shown
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R "
        b"/Resources << /Font << /F1 6 0 R >> >> >>"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>",
        page,
        page,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (size, table, size, len(data))
    )


def docx(lines: Sequence[str], rows: Rows) -> bytes:
    """A heading and a paragraph for each line."""
    del rows
    word = f"{_OFFICE}/wordprocessingml/2006/main"
    first, *rest = lines
    heading = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
        f"<w:r><w:t>{_escaped(first)}</w:t></w:r></w:p>"
    )
    body = "".join(f"<w:p><w:r><w:t>{_escaped(line)}</w:t></w:r></w:p>" for line in rest)
    return _office(
        "word/document.xml",
        "wordprocessingml.document.main",
        {
            "word/document.xml": f'<w:document xmlns:w="{word}"><w:body>{heading}{body}</w:body>'
            "</w:document>"
        },
    )


def xlsx(lines: Sequence[str], rows: Rows) -> bytes:
    """One sheet with the rows below their names."""
    del lines
    sheet = f"{_OFFICE}/spreadsheetml/2006/main"
    table: list[list[str | int | float]] = [list(rows[0]), *(list(row.values()) for row in rows)]
    cells = "".join(
        f'<row r="{number}">{"".join(_cell(value, number, at) for at, value in enumerate(row))}'
        "</row>"
        for number, row in enumerate(table, start=1)
    )
    return _office(
        "xl/workbook.xml",
        "spreadsheetml.sheet.main",
        {
            "xl/workbook.xml": f'<workbook xmlns="{sheet}" xmlns:r="{_DOCUMENT}"><sheets>'
            '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship '
            f'Id="rId1" Type="{_DOCUMENT}/worksheet" Target="worksheets/sheet1.xml"/>'
            "</Relationships>",
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{sheet}"><sheetData>{cells}'
            "</sheetData></worksheet>",
        },
        more={"/xl/worksheets/sheet1.xml": "spreadsheetml.worksheet"},
    )


def png(lines: Sequence[str], rows: Rows) -> bytes:
    """A picture of 64 by 48 points in two colours."""
    del lines, rows
    width, height = 64, 48

    def chunk(kind: bytes, data: bytes) -> bytes:
        whole = kind + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    line = b"\0" + (b"\xc4\x51\x2d" * (width // 2) + b"\x2d\x51\xc4" * (width // 2))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(line * height))
        + chunk(b"IEND", b"")
    )


def wav(lines: Sequence[str], rows: Rows) -> bytes:
    """Half a second of a tone, 16 bit, mono."""
    del lines, rows
    target = io.BytesIO()
    with wave.open(target, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"".join(struct.pack("<h", (n % 80 - 40) * 200) for n in range(4000)))
    return target.getvalue()


def zipped(lines: Sequence[str], rows: Rows) -> bytes:
    """An archive with two files."""
    del rows
    text = "\n".join(lines)
    return _zip({"notes.txt": text, "more/list.txt": text})


def tarred(lines: Sequence[str], rows: Rows) -> bytes:
    del rows
    content = "\n".join(lines).encode()
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        entry = tarfile.TarInfo("notes.txt")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(target.getvalue(), mtime=0)


def database(lines: Sequence[str], rows: Rows) -> bytes:
    """A SQLite file with one table."""
    del lines
    connection = sqlite3.connect(":memory:")
    names = ", ".join(f'"{name}"' for name in rows[0])
    places = ", ".join("?" for _ in rows[0])
    connection.execute(f"CREATE TABLE records ({names})")
    connection.executemany(
        f"INSERT INTO records VALUES ({places})",  # noqa: S608  # the names are ours
        [tuple(row.values()) for row in rows],
    )
    connection.commit()
    return connection.serialize()


MAKERS: Final[Mapping[str, Callable[[Sequence[str], Rows], bytes]]] = {
    "pdf": pdf,
    "docx": docx,
    "xlsx": xlsx,
    "png": png,
    "wav": wav,
    "zip": zipped,
    "gz": tarred,
    "db": database,
    "sqlite": database,
}
"""By the ending of the file."""


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _cell(value: str | float, row: int, column: int) -> str:
    place = f"{chr(ord('A') + column % 26)}{row}"
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{_escaped(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def _office(
    main: str, kind: str, parts: Mapping[str, str], more: Mapping[str, str] | None = None
) -> bytes:
    form = "application/vnd.openxmlformats-officedocument"
    kinds = {f"/{main}": kind, **(more or {})}
    overrides = "".join(
        f'<Override PartName="{part}" ContentType="{form}.{name}+xml"/>'
        for part, name in kinds.items()
    )
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    return _zip(
        {
            "[Content_Types].xml": f'{_XML}<Types xmlns="{_TYPES}"><Default Extension="rels" '
            f'ContentType="{relations}"/><Default Extension="xml" ContentType="application/xml"/>'
            f"{overrides}</Types>",
            "_rels/.rels": f'{_XML}<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" '
            f'Type="{_DOCUMENT}/officeDocument" Target="{main}"/></Relationships>',
            **{path: _XML + text for path, text in parts.items()},
        }
    )


def _zip(files: Mapping[str, str]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, _ZIP_TIME), text)
    return target.getvalue()
