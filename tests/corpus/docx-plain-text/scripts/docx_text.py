import re
import sys
import zipfile
from xml.etree import ElementTree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def words(element):
    parts = []
    for node in element.iter():
        if node.tag == f"{W}t":
            parts.append(node.text or "")
        elif node.tag in (f"{W}tab", f"{W}br"):
            parts.append("\t" if node.tag.endswith("tab") else "\n")
    return "".join(parts)


def paragraph(node):
    style = node.find(f"{W}pPr/{W}pStyle")
    level = re.search(r"(?i)heading\s*(\d)", style.get(f"{W}val", "")) if style is not None else None
    return ("#" * int(level.group(1)) + " " if level else "") + words(node)


def text_of(path):
    with zipfile.ZipFile(path) as archive:
        body = ElementTree.fromstring(archive.read("word/document.xml")).find(f"{W}body")
    lines = []
    for node in body:
        if node.tag == f"{W}p":
            lines.append(paragraph(node))
        elif node.tag == f"{W}tbl":
            for row in node.iter(f"{W}tr"):
                lines.append("\t".join(words(cell) for cell in row.iter(f"{W}tc")))
    return "\n".join(lines).strip() + "\n"


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: docx_text.py DOCUMENT.docx [OUTPUT.txt]")
    try:
        text = text_of(sys.argv[1])
    except (zipfile.BadZipFile, KeyError):
        sys.exit(f"{sys.argv[1]} is no Word document")
    if len(sys.argv) == 3:
        with open(sys.argv[2], "w", encoding="utf-8") as handle:
            handle.write(text)
        print(f"{len(text.split())} words in {sys.argv[2]}")
    else:
        print(text, end="")
