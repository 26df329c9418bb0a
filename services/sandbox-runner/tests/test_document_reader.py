"""What files say, whatever made them."""

import pytest

from assay_sandbox_runner.adapters.document_reader import read_documents
from assay_testkit.documents import office, pdf, png

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
