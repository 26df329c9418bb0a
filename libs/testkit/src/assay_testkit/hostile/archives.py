"""Archives that lie: each with how to make it and exactly the codes it is refused with."""

import stat
import struct
from collections.abc import Callable
from dataclasses import replace

from assay_skillkit.limits import MIB
from assay_testkit.archives import (
    FOLDER,
    SKILL_MD,
    Entry,
    deflated,
    descriptor,
    listed,
    raw_zip,
    skill_zip,
)

SKILL = Entry(name="demo/SKILL.md", data=SKILL_MD)


def of_mode(mode: int) -> bytes:
    return skill_zip(Entry(name="demo/x", data=b"x", mode=mode))


def same_header_many_times() -> bytes:
    """One file of 1 MB, listed 400 times: 400 MB out of a kilobyte."""
    file = Entry(name="demo/a", data=bytes(MIB), offset=0)
    return listed(raw_local(file), *(file for _ in range(400)))


def same_bytes_many_names() -> bytes:
    """The same, with a name of its own for each listing."""
    data = bytes(MIB)
    names = [Entry(name=f"demo/{n:03}", data=data, offset=0) for n in range(400)]
    return listed(raw_local(names[0]), *names)


def quoted_overlap() -> bytes:
    """One file's bytes hold the header of the next, as in quoted bombs."""
    inner = Entry(name="demo/z", data=b"kernel" * 10, method=0)
    outer = Entry(name="demo/a", data=raw_local(inner), method=0)
    body = raw_local(SKILL) + raw_local(outer)
    return listed(
        body,
        replace(SKILL, offset=0),
        replace(outer, offset=len(raw_local(SKILL))),
        replace(inner, offset=len(body) - len(raw_local(inner))),
    )


def raw_local(entry: Entry) -> bytes:
    whole = raw_zip(entry)
    return whole[: whole.rindex(b"PK\x01\x02")]


def zip64_of(data: bytes, claimed: int) -> bytes:
    extra = struct.pack("<2H2Q", 1, 16, claimed, len(deflated(data)))
    entry = Entry(
        name="demo/x",
        data=data,
        size=0xFFFFFFFF,
        packed_size=0xFFFFFFFF,
        extra=extra,
        local_extra=extra,
    )
    return skill_zip(entry)


def nested_bomb() -> bytes:
    inner = raw_zip(*(Entry(name=f"f{n}", data=bytes(3 * MIB)) for n in range(4)))
    return skill_zip(Entry(name="demo/x.zip", data=inner, method=0))


def nested_deep() -> bytes:
    inner = raw_zip(Entry(name="b.zip", data=raw_zip(Entry(name="c", data=b"c"))))
    return skill_zip(Entry(name="demo/a.zip", data=inner, method=0))


def many_nested() -> bytes:
    inner = raw_zip(*(Entry(name=f"{n}", method=0) for n in range(2_000)))
    return skill_zip(*(Entry(name=f"demo/{n}.bin", data=inner) for n in range(60)))


def many(count: int) -> bytes:
    return skill_zip(*(Entry(name=f"demo/{n}", data=b"x", method=0) for n in range(count)))


def truncated(cut: int) -> bytes:
    return skill_zip(Entry(name="demo/x", data=b"hello" * 50))[:-cut]


def two_ends() -> bytes:
    inner = raw_zip(Entry(name="other/SKILL.md", data=SKILL_MD))
    return raw_zip(SKILL, comment=inner)


def hidden_entry() -> bytes:
    return raw_zip(SKILL, before_index=raw_local(Entry(name="demo/hidden", data=b"secret")))


def moved_sizes() -> bytes:
    return raw_zip(SKILL, Entry(name="demo/x", data=b"x" * 50, local_size=49))


ARCHIVES: dict[str, tuple[Callable[[], bytes], set[str]]] = {
    # Kinds
    "link": (
        lambda: skill_zip(Entry(name="demo/x", data=b"/etc/passwd", mode=stat.S_IFLNK | 0o777)),
        {"entry-symlink"},
    ),
    "SKILL.md a link": (
        lambda: raw_zip(Entry(name="demo/SKILL.md", data=b"/x", mode=stat.S_IFLNK | 0o777)),
        {"entry-symlink"},
    ),
    "link to a folder, written through": (
        lambda: skill_zip(
            Entry(name="demo/d", data=b"/tmp", mode=stat.S_IFLNK | 0o777),
            Entry(name="demo/d/x", data=b"x"),
        ),
        {"entry-symlink"},
    ),
    "pipe": (lambda: of_mode(stat.S_IFIFO | 0o644), {"entry-special-file"}),
    "device": (lambda: of_mode(stat.S_IFCHR | 0o644), {"entry-special-file"}),
    "socket": (lambda: of_mode(stat.S_IFSOCK | 0o644), {"entry-special-file"}),
    "setuid": (lambda: of_mode(stat.S_IFREG | 0o4755), {"entry-setuid"}),
    "folder by its mode only": (lambda: of_mode(FOLDER), {"entry-type-mismatch"}),
    "folder by its attribute only": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", mode=0, dos=0x10, made_by=0)),
        {"entry-type-mismatch"},
    ),
    "folder with contents": (
        lambda: skill_zip(Entry(name="demo/d/", data=b"x", mode=FOLDER)),
        {"entry-type-mismatch"},
    ),
    "SKILL.md a folder": (
        lambda: raw_zip(Entry(name="demo/SKILL.md/", mode=FOLDER, method=0)),
        {"skill-md-not-a-file"},
    ),
    # Bombs
    "flat bomb": (
        lambda: skill_zip(Entry(name="demo/x", data=bytes(20 * MIB))),
        {"ratio-exceeded"},
    ),
    "many small bombs": (
        lambda: skill_zip(*(Entry(name=f"demo/{n}", data=bytes(MIB - 1)) for n in range(50))),
        {"ratio-exceeded"},
    ),
    "one header, listed often": (same_header_many_times, {"entries-overlap"}),
    "one header, many names": (same_bytes_many_names, {"entry-header-mismatch"}),
    "quoted overlap": (quoted_overlap, {"entries-overlap"}),
    "too many files": (lambda: many(501), {"too-many-files"}),
    "too many entries": (lambda: many(2_001), {"too-many-entries"}),
    "more than fits 16 bits": (
        lambda: raw_zip(SKILL, count=0xFFFF),
        {"archive-inconsistent"},
    ),
    "one huge file": (
        lambda: skill_zip(Entry(name="demo/x", data=bytes(50 * MIB + 1))),
        {"file-too-large"},
    ),
    "bzip2": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", method=12, packed=b"BZh9")),
        {"entry-method-unsupported"},
    ),
    "LZMA": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", method=14, packed=b"xx")),
        {"entry-method-unsupported"},
    ),
    "unknown method": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", method=77, packed=b"xx")),
        {"entry-method-unsupported"},
    ),
    "patch": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", flags=0x20)),
        {"entry-method-unsupported"},
    ),
    "nested bomb": (nested_bomb, {"nested-archive-bomb"}),
    "many nested archives": (many_nested, {"nested-archive-bomb"}),
    "archives three deep": (nested_deep, {"nested-archive-deep"}),
    # Encryption
    "encrypted": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", flags=1)),
        {"entry-encrypted"},
    ),
    "strongly encrypted": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", flags=0x41)),
        {"entry-encrypted"},
    ),
    "AES": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", method=99, packed=b"xx")),
        {"entry-encrypted"},
    ),
    # Lies about contents
    "says smaller": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x" * 500, size=10)),
        {"entry-size-mismatch"},
    ),
    "says larger": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x" * 500, size=501)),
        {"entry-size-mismatch"},
    ),
    "stored with two sizes": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x" * 500, method=0, size=501)),
        {"entry-size-mismatch"},
    ),
    "wrong checksum": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", crc=1)),
        {"entry-crc-mismatch"},
    ),
    "checksum wrong in SKILL.md": (
        lambda: raw_zip(Entry(name="demo/SKILL.md", data=SKILL_MD, crc=1)),
        {"entry-crc-mismatch"},
    ),
    "packed bytes are noise": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", packed=b"\xff\xff\xff\xff")),
        {"entry-corrupt"},
    ),
    "packed bytes break off": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x" * 99, packed=deflated(b"x" * 99)[:-1])),
        {"entry-corrupt"},
    ),
    "packed bytes go on": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", packed=deflated(b"x") + b"more")),
        {"entry-corrupt"},
    ),
    "zip64 says an exabyte": (lambda: zip64_of(b"x", 1 << 60), {"file-too-large"}),
    "zip64 without sizes": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", size=0xFFFFFFFF)),
        {"archive-inconsistent"},
    ),
    # Two readers, two archives
    "another name at its place": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", local_name=b"demo/y")),
        {"entry-header-mismatch"},
    ),
    "another size at its place": (moved_sizes, {"entry-header-mismatch"}),
    "another method at its place": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", local_method=0)),
        {"entry-header-mismatch"},
    ),
    "encrypted only at its place": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", local_flags=1)),
        {"entry-header-mismatch"},
    ),
    "no entry at its place": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", offset=3)),
        {"entry-header-mismatch"},
    ),
    "place outside": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", offset=1 << 30)),
        {"entry-header-mismatch"},
    ),
    "reaches outside": (
        lambda: skill_zip(
            Entry(name="demo/x", data=b"x" * 9, method=0, packed=b"x", packed_size=9000, size=9000)
        ),
        {"entry-header-mismatch"},
    ),
    "prefixed, as a PDF": (lambda: raw_zip(SKILL, prefix=b"%PDF-1.7\n"), {"archive-prefixed"}),
    "prefixed, offsets mended": (
        lambda: raw_zip(
            Entry(name="demo/SKILL.md", data=SKILL_MD, offset=9), prefix=b"%PDF-1.7\n", shift=9
        ),
        {"archive-prefixed"},
    ),
    "two zips in a row": (lambda: skill_zip() + skill_zip(), {"archive-prefixed"}),
    "trailing bytes": (lambda: raw_zip(SKILL, suffix=b"\0" * 10), {"archive-trailing-data"}),
    "a zip in the comment": (two_ends, {"archive-ambiguous"}),
    "hidden entry": (hidden_entry, {"archive-hidden-data"}),
    "bytes between files": (
        lambda: raw_zip(Entry(name="demo/SKILL.md", data=SKILL_MD, after=b"hidden")),
        {"archive-hidden-data"},
    ),
    "descriptor that lies": (
        lambda: skill_zip(
            Entry(
                name="demo/x",
                data=b"x",
                flags=8,
                local_crc=0,
                local_size=0,
                local_packed_size=0,
                after=descriptor(b"y", 3),
            )
        ),
        {"archive-hidden-data"},
    ),
    "descriptor left out": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", flags=8)),
        {"archive-hidden-data"},
    ),
    "contents said to start later": (lambda: raw_zip(SKILL, shift=4), {"archive-inconsistent"}),
    "contents said to start earlier": (lambda: raw_zip(SKILL, shift=-4), {"archive-prefixed"}),
    "more entries than said": (lambda: raw_zip(SKILL, count=0), {"archive-inconsistent"}),
    "fewer entries than said": (lambda: raw_zip(SKILL, count=2), {"archive-inconsistent"}),
    "contents broken": (
        lambda: raw_zip(SKILL, index_extra=b"PK\x01\x02"),
        {"archive-inconsistent"},
    ),
    "contents go on": (lambda: raw_zip(SKILL, before_end=b"junk"), {"archive-prefixed"}),
    "several disks": (lambda: raw_zip(SKILL, disk=1), {"archive-multi-disk"}),
    "entry on another disk": (
        lambda: skill_zip(Entry(name="demo/x", data=b"x", disk=2)),
        {"archive-multi-disk"},
    ),
    "split archive": (lambda: b"PK\x07\x08" + skill_zip(), {"archive-multi-disk"}),
    # No zips
    "truncated by a byte": (lambda: truncated(1), {"archive-truncated"}),
    "truncated before its end": (lambda: truncated(30), {"archive-truncated"}),
    "truncated to its first bytes": (lambda: skill_zip()[:10], {"archive-truncated"}),
    "no bytes": (lambda: b"", {"archive-empty"}),
    "one byte": (lambda: b"P", {"not-a-zip"}),
    "gzip": (lambda: b"\x1f\x8b\x08\0\0\0\0\0", {"not-a-zip"}),
    "7-Zip": (lambda: b"7z\xbc\xaf\x27\x1c\0\0", {"not-a-zip"}),
    "tar": (lambda: bytes(257) + b"ustar\0" + bytes(300), {"not-a-zip"}),
    "program": (lambda: b"\x7fELF" + bytes(64), {"not-a-zip"}),
    "bare SKILL.md": (lambda: SKILL_MD, {"not-a-zip"}),
    "only an end": (raw_zip, {"skill-md-missing"}),
    "only folders": (
        lambda: raw_zip(Entry(name="demo/", mode=FOLDER, method=0)),
        {"skill-md-missing"},
    ),
    "over 50 MB": (lambda: bytes(50 * MIB + 1), {"archive-too-large"}),
}
