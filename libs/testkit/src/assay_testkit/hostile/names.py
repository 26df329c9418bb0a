"""Names that lead somewhere else: each with exactly the codes it is refused with."""

import struct
import unicodedata
import zlib
from collections.abc import Callable

from assay_testkit.archives import SKILL_MD, Entry, skill_zip

SKILL = Entry(name="demo/SKILL.md", data=SKILL_MD)
NFC = unicodedata.normalize("NFC", "demo/é.txt")
NFD = unicodedata.normalize("NFD", "demo/é.txt")


def named(name: str | bytes, *, flags: int | None = None) -> bytes:
    return skill_zip(Entry(name=name, data=b"x", flags=flags))


def unicode_path(raw: bytes, claimed: str) -> bytes:
    field = b"\x01" + struct.pack("<L", zlib.crc32(raw)) + claimed.encode()
    return struct.pack("<2H", 0x7075, len(field)) + field


NAMES: dict[str, tuple[Callable[[], bytes], set[str]]] = {
    "parent folder": (lambda: named("../x"), {"path-traversal"}),
    "parent folder further in": (lambda: named("demo/a/../../../x"), {"path-traversal"}),
    "parent folder, Windows spelling": (lambda: named("demo\\..\\..\\x"), {"path-traversal"}),
    "parent folder, both spellings": (
        lambda: named("demo/..\\x"),
        {"path-traversal", "path-mixed-separators"},
    ),
    "parent folder, percent signs": (lambda: named("demo/%2e%2e/x"), {"path-traversal"}),
    "parent folder, percent signs twice": (lambda: named("demo/%252e%252e/x"), {"path-traversal"}),
    "parent folder, slash in percent signs": (
        lambda: named("demo/..%2f..%2fx"),
        {"path-traversal"},
    ),
    "parent folder, full width": (lambda: named("demo/\uff0e\uff0e/x"), {"path-traversal"}),
    "parent folder, one dot leader": (lambda: named("demo/\u2025/x"), {"path-traversal"}),
    "parent folder, trailing space": (lambda: named("demo/.. /x"), {"path-traversal"}),
    "parent folder, overlong UTF-8": (lambda: named(b"demo/\xc0\xae\xc0\xae/x"), {"path-not-utf8"}),
    "parent folder at the end": (lambda: named("demo/.."), {"path-traversal"}),
    "parent folder among junk": (lambda: named("__MACOSX/../../x"), {"path-traversal"}),
    "absolute": (lambda: named("/etc/passwd"), {"path-absolute"}),
    "absolute, Windows spelling": (lambda: named("\\windows\\x"), {"path-absolute"}),
    "server": (lambda: named("\\\\server\\share\\x"), {"path-absolute"}),
    "drive letter": (lambda: named("C:\\x"), {"path-drive-letter"}),
    "drive letter, relative": (lambda: named("c:x"), {"path-drive-letter"}),
    "dot inside": (lambda: named("demo/./x"), {"path-not-normal"}),
    "double slash": (lambda: named("demo//x"), {"path-not-normal"}),
    "mixed separators": (lambda: named("demo/a\\b"), {"path-mixed-separators"}),
    "NUL": (lambda: named("demo/a\0.txt"), {"path-control-character"}),
    "newline": (lambda: named("demo/a\nb"), {"path-control-character"}),
    "terminal escape": (lambda: named("demo/\x1b[31mred"), {"path-control-character"}),
    "bidi override": (lambda: named("demo/\u202etxt.exe"), {"path-bidi-character"}),
    "zero width": (lambda: named("demo/a\u200bb"), {"path-invisible-character"}),
    "tag character": (lambda: named("demo/a\U000e0041"), {"path-invisible-character"}),
    "two Unicode forms": (
        lambda: skill_zip(Entry(name=NFC, data=b"1"), Entry(name=NFD, data=b"2")),
        {"path-collision"},
    ),
    "two cases": (
        lambda: skill_zip(
            Entry(name="demo/Readme", data=b"1"), Entry(name="demo/README", data=b"2")
        ),
        {"path-collision"},
    ),
    "two cases of a folder": (
        lambda: skill_zip(Entry(name="demo/A/x", data=b"1"), Entry(name="demo/a/y", data=b"2")),
        {"path-collision"},
    ),
    "two cases of SKILL.md": (
        lambda: skill_zip(Entry(name="demo/skill.md", data=SKILL_MD)),
        {"path-collision"},
    ),
    "alias through a leading dot": (
        lambda: skill_zip(Entry(name="./demo/SKILL.md", data=b"other")),
        {"path-collision"},
    ),
    "same name twice": (lambda: skill_zip(SKILL), {"path-duplicate"}),
    "file and folder": (
        lambda: skill_zip(Entry(name="demo/a", data=b"1"), Entry(name="demo/a/b", data=b"2")),
        {"path-file-and-folder"},
    ),
    "folder, then file": (
        lambda: skill_zip(Entry(name="demo/a/b", data=b"2"), Entry(name="demo/A", data=b"1")),
        {"path-file-and-folder"},
    ),
    "Windows device": (lambda: named("demo/NUL.txt"), {"path-reserved-name"}),
    "Windows device as a folder": (lambda: named("demo/com1/x"), {"path-reserved-name"}),
    "trailing dot": (lambda: named("demo/x."), {"path-trailing-dot-or-space"}),
    "trailing space": (lambda: named("demo/x /y"), {"path-trailing-dot-or-space"}),
    "alternate stream": (lambda: named("demo/x.txt:hidden"), {"path-colon"}),
    "no name": (lambda: named(""), {"path-empty"}),
    "only a slash": (lambda: named("/"), {"path-empty", "entry-type-mismatch"}),
    "long name": (lambda: named("demo/" + "x" * 60_000), {"path-too-long"}),
    "long part": (lambda: named("demo/" + "é" * 130), {"path-too-long"}),
    "deep": (lambda: named("demo/" + "a/" * 5_000 + "x"), {"path-too-deep"}),
    "bad UTF-8, flagged": (lambda: named(b"demo/\xff\xfe", flags=0x800), {"path-not-utf8"}),
    "another code page": (lambda: named(b"demo/caf\x82", flags=0), {"path-not-utf8"}),
    "second name": (
        lambda: skill_zip(
            Entry(name="demo/x", data=b"x", extra=unicode_path(b"demo/x", "demo/../y"))
        ),
        {"path-ambiguous"},
    ),
}
