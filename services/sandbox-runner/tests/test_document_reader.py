"""What files say, whatever made them."""

import io
import struct
import zipfile
import zlib

import pytest

from assay_sandbox_runner.adapters.document_reader import read_documents


def office(parts: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return packed.getvalue()


def pdf(text: str) -> bytes:
    """One page with one line, written by hand."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            b"/Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer << /Size %d /Root 1 0 R >>\n" % (len(objects) + 1))
    out.write(b"startxref\n%d\n%%%%EOF\n" % table)
    return out.getvalue()


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    rows = chunk(b"IDAT", zlib.compress(b"\0" * (width + 1) * height))
    return b"\x89PNG\r\n\x1a\n" + head + rows + chunk(b"IEND", b"")


WORKBOOK = {
    "xl/workbook.xml": '<workbook><sheets><sheet name="Sales"/></sheets></workbook>',
    "xl/sharedStrings.xml": "<sst><si><t>north</t></si></sst>",
    "xl/worksheets/sheet1.xml": (
        '<worksheet><sheetData><row><c r="A1" t="s"><v>0</v></c>'
        '<c r="B1"><f>SUM(B2:B3)</f><v>42</v></c></row></sheetData></worksheet>'
    ),
}
DOCUMENT = {
    "word/document.xml": (
        '<w:document xmlns:w="w"><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
        "<w:r><w:t>Minutes</w:t></w:r></w:p><w:p><w:r><w:t>Ann pays.</w:t></w:r></w:p>"
        "</w:body></w:document>"
    )
}
SLIDES = {
    "ppt/presentation.xml": "<p/>",
    "ppt/slides/slide1.xml": '<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:t>Growth</a:t></a:p></p:sld>',
}


@pytest.mark.parametrize(
    ("content", "kind", "note", "text"),
    [
        (b"one\ntwo", "text", "2 lines", "one\ntwo"),
        ("größe 技能\n".encode(), "text", "1 lines", "größe 技能"),
        ("wide".encode("utf-16"), "text", "1 lines", "wide"),
        (pdf("Total 1234"), "pdf", "1 page", "Total 1234"),
        (office(DOCUMENT), "docx", "2 paragraphs", "[Heading1] Minutes\nAnn pays."),
        (office(WORKBOOK), "xlsx", "1 sheets", "[sheet Sales]\nA1=north\tB1=42 (=SUM(B2:B3))"),
        (office(SLIDES), "pptx", "1 slides", "[slide 1]\nGrowth"),
        (office({"a.txt": "x", "b/c.txt": "y"}), "archive", "2 files", "a.txt\nb/c.txt"),
        (png(640, 480), "image", "PNG, 640 × 480 pixels", ""),
        (b"\x7fELF\0\0\0", "binary", "no text", ""),
    ],
)
async def test_a_file_is_read_by_what_it_is(
    content: bytes, kind: str, note: str, text: str
) -> None:
    read = (await read_documents({"made": content}))["made"]

    assert read.kind == kind
    assert note in read.note
    assert text in read.text


async def test_a_file_that_is_not_what_it_claims_to_be_spoils_no_other() -> None:
    bomb = office({"word/document.xml": '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'})
    huge = office({"word/document.xml": "<x>" + " " * (40 * 1024**2) + "</x>"})

    read = await read_documents(
        {"broken.pdf": b"%PDF-1.7 nothing", "bomb.docx": bomb, "huge.docx": huge, "a.txt": b"fine"}
    )

    assert read["a.txt"].text == "fine"
    assert "document type" in read["bomb.docx"].note
    assert "larger than" in read["huge.docx"].note
    assert read["broken.pdf"].text == ""


async def test_a_reader_that_does_not_end_is_ended() -> None:
    read = await read_documents({"a.txt": b"%PDF-1.4"}, seconds=0.0)

    assert read["a.txt"].note == "could not be read within the bounds of the reader"
