"""A zip file's table of contents, read strictly: one way to read it, or none.

`zipfile` is lenient where readers of zip files disagree with one another, and what they disagree
on is what an attacker uses. Here every byte of the file has to be accounted for exactly once.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO, Final
from zlib import crc32

from assay_contracts.skills import Finding
from assay_skillkit.limits import LIMITS, Limits
from assay_skillkit.rules import archive as rules
from assay_skillkit.rules.rule import Rule

END: Final = struct.Struct("<4s4H2LH")
END_SIGNATURE: Final = b"PK\x05\x06"
LOCATOR: Final = struct.Struct("<4sLQL")
LOCATOR_SIGNATURE: Final = b"PK\x06\x07"
END64: Final = struct.Struct("<4sQ2H2L4Q")
END64_SIGNATURE: Final = b"PK\x06\x06"
CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
CENTRAL_SIGNATURE: Final = b"PK\x01\x02"
LOCAL_SIGNATURE: Final = b"PK\x03\x04"
SPLIT_SIGNATURES: Final = (b"PK\x07\x08", b"PK00")

_LONGEST_COMMENT: Final = 0xFFFF
_FULL_16: Final = 0xFFFF
_FULL_32: Final = 0xFFFFFFFF
UTF8_FLAG: Final = 0x800
_UNREADABLE: Final = "\ufffd"
_EXTRA_ZIP64: Final = 0x0001
_EXTRA_UNICODE_PATH: Final = 0x7075
_OTHER_FORMATS: Final = (
    (b"\x1f\x8b", "a gzip file (.gz, .tgz)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip file"),
    (b"Rar!", "a RAR file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"%PDF", "a PDF"),
    (b"---", "a Markdown file"),
    (b"<", "a web page or XML file"),
)


class BadArchive(Exception):
    """The archive cannot be read at all; `finding` says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One entry as the table of contents describes it; nothing of it is verified yet."""

    raw_name: bytes
    name: str | None
    """None when the name cannot be read as UTF-8."""
    second_name: str | None
    """The name in the Unicode extra field, when it says another than `name`."""
    made_by: int
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    attributes: int
    offset: int

    @property
    def shown_name(self) -> str:
        return self.raw_name.decode("utf-8", "backslashreplace") if self.name is None else self.name


@dataclass(frozen=True, slots=True)
class Index:
    entries: tuple[IndexEntry, ...]
    offset: int
    """Where the table of contents starts, which is where the last entry must end."""


@dataclass(frozen=True, slots=True)
class _End:
    entries: int
    size: int
    offset: int
    ends_at: int
    """Where the table of contents has to end."""


def read_index(file: BinaryIO, limits: Limits = LIMITS) -> Index:
    """Read the table of contents of the zip in `file`, which can be sought in.

    Raises:
        BadArchive: It is no zip, or one that two readers could read in two ways.
    """
    size = file.seek(0, 2)
    if size > limits.packed:
        raise _bad(
            rules.ARCHIVE_TOO_LARGE,
            f"The archive has {size:,} bytes; {limits.packed:,} is the most.",
        )
    _check_start(file, size)
    end = _find_end(file, size)
    if end.entries > limits.entries:
        raise _bad(
            rules.TOO_MANY_ENTRIES,
            f"The archive has {end.entries:,} entries; {limits.entries:,} is the most.",
        )
    if end.size > limits.index:
        raise _bad(
            rules.INDEX_TOO_LARGE,
            f"The table of contents has {end.size:,} bytes; {limits.index:,} is the most.",
        )
    if end.offset + end.size < end.ends_at:
        raise _bad(
            rules.ARCHIVE_PREFIXED,
            "Bytes that belong to no file stand before the archive or its table of contents.",
        )
    if end.offset + end.size > end.ends_at:
        raise _bad(
            rules.ARCHIVE_INCONSISTENT,
            "The archive says that its table of contents reaches past its own end.",
        )
    file.seek(end.offset)
    return Index(_parse_entries(file.read(end.size), end.entries), end.offset)


def _bad(rule: Rule, message: str) -> BadArchive:
    return BadArchive(rule.at(message))


def _check_start(file: BinaryIO, size: int) -> None:
    if size == 0:
        raise _bad(rules.ARCHIVE_EMPTY, "The file is empty.")
    file.seek(0)
    start = file.read(8)
    if start.startswith(SPLIT_SIGNATURES):
        raise _bad(rules.ARCHIVE_MULTI_DISK, "The archive is one part of a split archive.")


def _not_a_zip(file: BinaryIO) -> BadArchive:
    file.seek(0)
    start = file.read(512)
    for signature, what in _OTHER_FORMATS:
        if start.startswith(signature):
            return _bad(rules.NOT_A_ZIP, f"The file is not a zip; it looks like {what}.")
    if start[257:262] == b"ustar":
        return _bad(rules.NOT_A_ZIP, "The file is not a zip; it looks like a tar file.")
    return _bad(rules.NOT_A_ZIP, "The file is not a zip.")


def _find_end(file: BinaryIO, size: int) -> _End:
    start = max(0, size - END.size - _LONGEST_COMMENT)
    file.seek(start)
    tail = file.read(size - start)
    position = start + _end_position(file, tail)
    record = END.unpack_from(tail, position - start)
    _, disk, first_disk, here, total, index_size, index_offset, _ = record
    file.seek(max(0, position - LOCATOR.size))
    if position >= LOCATOR.size and file.read(4) == LOCATOR_SIGNATURE:
        return _find_end64(file, position - LOCATOR.size, record)
    if disk or first_disk or here != total:
        raise _bad(rules.ARCHIVE_MULTI_DISK, "The archive is split over several files.")
    if total == _FULL_16 or _FULL_32 in (index_size, index_offset):
        raise _bad(
            rules.ARCHIVE_INCONSISTENT, "The archive calls itself zip64 but lacks what that needs."
        )
    return _End(total, index_size, index_offset, position)


def _end_position(file: BinaryIO, tail: bytes) -> int:
    marks: list[int] = []
    at = tail.find(END_SIGNATURE)
    while at >= 0:
        marks.append(at)
        at = tail.find(END_SIGNATURE, at + 1)
    if not marks:
        file.seek(0)
        if file.read(4) == LOCAL_SIGNATURE:
            raise _bad(rules.ARCHIVE_TRUNCATED, "The archive ends before its table of contents.")
        raise _not_a_zip(file)
    ends = {
        at: at + END.size + struct.unpack_from("<H", tail, at + END.size - 2)[0]
        for at in marks
        if at + END.size <= len(tail)
    }
    exact = [at for at, ends_at in ends.items() if ends_at == len(tail)]
    if len(exact) > 1 or (exact and exact[0] != marks[-1]):
        raise _bad(rules.ARCHIVE_AMBIGUOUS, "The archive has two ends, so it can be read two ways.")
    if exact:
        return exact[0]
    if marks[-1] in ends and ends[marks[-1]] < len(tail):
        raise _bad(rules.ARCHIVE_TRAILING_DATA, "Bytes follow the end of the archive.")
    raise _bad(rules.ARCHIVE_TRUNCATED, "The archive breaks off in its last record.")


def _find_end64(file: BinaryIO, locator_at: int, end: tuple[int, ...]) -> _End:
    file.seek(locator_at)
    _, locator_disk, offset, disks = LOCATOR.unpack(file.read(LOCATOR.size))
    if locator_disk or disks > 1:
        raise _bad(rules.ARCHIVE_MULTI_DISK, "The archive is split over several files.")
    if offset + END64.size > locator_at:
        raise _bad(rules.ARCHIVE_INCONSISTENT, "The archive's zip64 record is not where it says.")
    file.seek(offset)
    signature, length, _, _, disk, first_disk, here, total, size, start = END64.unpack(
        file.read(END64.size)
    )
    if signature != END64_SIGNATURE or offset + 12 + length != locator_at:
        raise _bad(rules.ARCHIVE_INCONSISTENT, "The archive's zip64 record is not where it says.")
    if disk or first_disk or here != total:
        raise _bad(rules.ARCHIVE_MULTI_DISK, "The archive is split over several files.")
    short = zip(
        end[3:7], (here, total, size, start), (_FULL_16,) * 2 + (_FULL_32,) * 2, strict=True
    )
    if any(small not in (large, full) for small, large, full in short):
        raise _bad(rules.ARCHIVE_AMBIGUOUS, "The archive's two end records say different things.")
    return _End(total, size, start, offset)


def _parse_entries(data: bytes, count: int) -> tuple[IndexEntry, ...]:
    entries: list[IndexEntry] = []
    at = 0
    while at < len(data):
        if len(data) - at < CENTRAL.size or not data.startswith(CENTRAL_SIGNATURE, at):
            raise _bad(rules.ARCHIVE_INCONSISTENT, "The archive's table of contents is broken.")
        fields = CENTRAL.unpack_from(data, at)
        name_length, extra_length, comment_length = fields[10:13]
        name_at = at + CENTRAL.size
        extra_at = name_at + name_length
        at = extra_at + extra_length + comment_length
        if at > len(data):
            raise _bad(rules.ARCHIVE_INCONSISTENT, "The archive's table of contents is broken.")
        raw_name, extra = data[name_at:extra_at], data[extra_at : extra_at + extra_length]
        entries.append(_entry(fields, raw_name, extra))
    if len(entries) != count:
        raise _bad(
            rules.ARCHIVE_INCONSISTENT,
            f"The archive says it has {count} entries, but lists {len(entries)}.",
        )
    return tuple(entries)


def _entry(fields: tuple[int, ...], raw_name: bytes, extra: bytes) -> IndexEntry:
    _, made_by, _, flags, method, _, _, crc, packed, size = fields[:10]
    disk, _, attributes, offset = fields[13:]
    extras = _extras(extra)
    packed, size, offset, disk = _widened(extras.get(_EXTRA_ZIP64, b""), packed, size, offset, disk)
    if disk:
        raise _bad(rules.ARCHIVE_MULTI_DISK, "The archive is split over several files.")
    name, second = _names(raw_name, flags, extras.get(_EXTRA_UNICODE_PATH, b""))
    return IndexEntry(
        raw_name=raw_name,
        name=name,
        second_name=second,
        made_by=made_by >> 8,
        flags=flags,
        method=method,
        crc=crc,
        packed=packed,
        size=size,
        attributes=attributes,
        offset=offset,
    )


def _extras(data: bytes) -> dict[int, bytes]:
    """The extra fields by their number; what cannot be read is left out, as readers do."""
    fields: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        number, length = struct.unpack_from("<2H", data, at)
        fields.setdefault(number, data[at + 4 : at + 4 + length])
        at += 4 + length
    return fields


def _widened(zip64: bytes, packed: int, size: int, offset: int, disk: int) -> tuple[int, ...]:
    at = 0

    def wide(value: int, full: int, form: str) -> int:
        nonlocal at
        if value != full:
            return value
        length = struct.calcsize(form)
        if at + length > len(zip64):
            raise _bad(
                rules.ARCHIVE_INCONSISTENT, "An entry calls itself zip64 but lacks its sizes."
            )
        at += length
        return int(struct.unpack_from(form, zip64, at - length)[0])

    # The order is the format's own.
    size = wide(size, _FULL_32, "<Q")
    packed = wide(packed, _FULL_32, "<Q")
    offset = wide(offset, _FULL_32, "<Q")
    return packed, size, offset, wide(disk, _FULL_16, "<L")


def _names(raw: bytes, flags: int, unicode_path: bytes) -> tuple[str | None, str | None]:
    """The name, and another one when the Unicode extra field claims it.

    Tools that do not set the UTF-8 flag mostly write UTF-8 all the same (macOS does); a name that
    is no UTF-8 is in a code page nobody names, so only the extra field can say what it is.
    """
    try:
        name: str | None = raw.decode("utf-8")
    except UnicodeDecodeError:
        if flags & UTF8_FLAG:
            return None, None
        name = None
    claimed = _claimed_name(raw, unicode_path)
    if claimed is None or claimed == name:
        return name, None
    if name is None:
        return (None if _UNREADABLE in claimed else claimed), None
    return name, claimed


def _claimed_name(raw: bytes, field: bytes) -> str | None:
    version, checksum, name = field[:1], field[1:5], field[5:]
    if version != b"\x01" or int.from_bytes(checksum, "little") != crc32(raw):
        return None
    return name.decode("utf-8", "replace")
