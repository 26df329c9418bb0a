"""Whether an archive's entries fill it, each once, from its first byte to its table of contents."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from assay_contracts.skills import Finding
from assay_skillkit.archive.zip_index import LOCAL_SIGNATURE, UTF8_FLAG, Index, IndexEntry
from assay_skillkit.rules import archive as rules
from assay_skillkit.show import shown

_LOCAL: Final = struct.Struct("<4s5H3L2H")
_EXTRA_HEADER: Final = struct.Struct("<2H")
_WIDE_SIZES: Final = struct.Struct("<2Q")
_DESCRIPTOR_FLAG: Final = 0x0008
_DESCRIPTOR_SIGNATURE: Final = b"PK\x07\x08"
_FULL_32: Final = 0xFFFFFFFF
_MEANINGFUL_FLAGS: Final = 0x0001 | 0x0040 | 0x2000 | _DESCRIPTOR_FLAG


@dataclass(frozen=True, slots=True)
class _Span:
    entry: IndexEntry
    data: int

    @property
    def end(self) -> int:
        return self.data + self.entry.packed


def locate_entries(file: BinaryIO, index: Index) -> tuple[list[int | None], list[Finding]]:
    """Where each entry's bytes start (None if it cannot be told), and what is out of place."""
    findings: list[Finding] = []
    spans: list[_Span | None] = []
    for entry in index.entries:
        found = _local_header(file, entry, index.offset)
        if isinstance(found, Finding):
            findings.append(found)
            spans.append(None)
        else:
            spans.append(found)
    placed = sorted((span for span in spans if span), key=lambda span: span.entry.offset)
    if len(placed) == len(spans):
        findings.extend(_out_of_place(file, placed, index.offset))
    overlapping = {id(span) for span, _ in _overlaps(placed)}
    starts = [span.data if span and id(span) not in overlapping else None for span in spans]
    return starts, findings


def _local_header(file: BinaryIO, entry: IndexEntry, limit: int) -> _Span | Finding:
    name = entry.shown_name
    if entry.offset + _LOCAL.size > limit:
        return rules.ENTRY_HEADER_MISMATCH.at("The entry lies outside the archive's data.", name)
    file.seek(entry.offset)
    fields = _LOCAL.unpack(file.read(_LOCAL.size))
    signature, _, flags, method, _, _, crc, packed, size, name_length, extra_length = fields
    if signature != LOCAL_SIGNATURE:
        return rules.ENTRY_HEADER_MISMATCH.at(
            "No entry stands where the archive says one does.", name
        )
    if file.read(name_length) != entry.raw_name:
        return rules.ENTRY_HEADER_MISMATCH.at(
            "The entry has one name in the table of contents and another at its place.", name
        )
    extra = file.read(extra_length)
    if not _flags_agree(flags, entry) or method != entry.method:
        return rules.ENTRY_HEADER_MISMATCH.at(
            "The entry is packed one way by the table of contents and another way at its place.",
            name,
        )
    if not _sizes_agree(entry, crc, packed, size, extra):
        return rules.ENTRY_HEADER_MISMATCH.at(
            "The entry has one size in the table of contents and another at its place.", name
        )
    start = entry.offset + _LOCAL.size + name_length + extra_length
    if start + entry.packed > limit:
        return rules.ENTRY_HEADER_MISMATCH.at("The entry reaches outside the archive's data.", name)
    return _Span(entry, start)


def _flags_agree(flags: int, entry: IndexEntry) -> bool:
    compared = _MEANINGFUL_FLAGS if entry.raw_name.isascii() else _MEANINGFUL_FLAGS | UTF8_FLAG
    return flags & compared == entry.flags & compared


def _sizes_agree(entry: IndexEntry, crc: int, packed: int, size: int, extra: bytes) -> bool:
    if _FULL_32 in (packed, size):
        wide = _zip64_sizes(extra)
        if wide is None:
            return False
        size, packed = wide
    expected = (entry.crc, entry.packed, entry.size)
    if entry.flags & _DESCRIPTOR_FLAG:
        # WrittenBundle before the sizes were known: then they are zero here and follow the data.
        return all(a in (0, b) for a, b in zip((crc, packed, size), expected, strict=True))
    return (crc, packed, size) == expected


def _zip64_sizes(extra: bytes) -> tuple[int, int] | None:
    at = 0
    while at + _EXTRA_HEADER.size <= len(extra):
        number, length = _EXTRA_HEADER.unpack_from(extra, at)
        at += _EXTRA_HEADER.size
        if number == 1 and length >= _WIDE_SIZES.size and at + _WIDE_SIZES.size <= len(extra):
            size, packed = _WIDE_SIZES.unpack_from(extra, at)
            return size, packed
        at += length
    return None


def _out_of_place(file: BinaryIO, spans: list[_Span], end: int) -> Iterator[Finding]:
    if (spans[0].entry.offset if spans else end) > 0:
        yield rules.ARCHIVE_PREFIXED.at("Bytes that belong to no file stand before the first one.")
    for span, other in _overlaps(spans):
        yield rules.ENTRIES_OVERLAP.at(
            f"The file shares bytes with `{shown(other.entry.shown_name)}`, as archive bombs do.",
            span.entry.shown_name,
        )
    next_offsets = [*(span.entry.offset for span in spans[1:]), end]
    for span, next_offset in zip(spans, next_offsets, strict=False):
        if next_offset >= span.end and not _gap_explained(file, span, next_offset):
            yield rules.ARCHIVE_HIDDEN_DATA.at(
                "Bytes that belong to no file follow this one in the archive.",
                span.entry.shown_name,
            )


def _overlaps(spans: list[_Span]) -> Iterator[tuple[_Span, _Span]]:
    """Each entry that starts before an earlier one has ended, with that earlier one."""
    furthest: _Span | None = None
    for span in spans:
        if furthest is not None and span.entry.offset < furthest.end:
            yield span, furthest
        if furthest is None or span.end > furthest.end:
            furthest = span


def _gap_explained(file: BinaryIO, span: _Span, next_offset: int) -> bool:
    """Whether what stands between two entries is nothing, or the sizes a streaming tool adds."""
    gap = next_offset - span.end
    if not span.entry.flags & _DESCRIPTOR_FLAG:
        return gap == 0
    entry = span.entry
    narrow = struct.pack("<L", entry.crc) + _pair("<2L", entry)
    wide = struct.pack("<L", entry.crc) + _pair("<2Q", entry)
    if gap > len(_DESCRIPTOR_SIGNATURE) + len(wide):
        return False
    file.seek(span.end)
    data = file.read(gap)
    return data.removeprefix(_DESCRIPTOR_SIGNATURE) in (narrow, wide) or data in (narrow, wide)


def _pair(form: str, entry: IndexEntry) -> bytes:
    try:
        return struct.pack(form, entry.packed, entry.size)
    except struct.error:
        return b""
