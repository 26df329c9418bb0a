"""The canonical bundle: one skill, one sequence of bytes, whatever tool zipped it.

A bundle is a zip that holds the skill's files below one folder, `<name>/`, so that unpacking it
into a folder of skills puts it where agents look, and so that a bundle is itself a valid upload.
Names are composed Unicode (NFC) in the order of their code points; times are the zip format's
first; folders have no entries of their own. A file can be run (mode 0755) if it starts with `#!`,
else not (0644): modes follow from contents, because half the tools that make zips lose them.
Files are stored, not packed: what deflate makes of the same bytes differs between versions of
zlib, and the address of a bundle must not.
"""

import hashlib
import stat
import struct
from dataclasses import dataclass
from typing import BinaryIO, Final
from zlib import crc32

from assay_skillkit.tree import Tree

_LOCAL: Final = struct.Struct("<4s5H3L2H")
_CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
_END: Final = struct.Struct("<4s4H2LH")
_VERSION: Final = 20
_UNIX: Final = 3 << 8
_UTF8: Final = 0x800
_STORED: Final = 0
_MIDNIGHT: Final = 0
_FIRST_DAY: Final = 0x21
"""1 January 1980."""
_PIECE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class WrittenBundle:
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class _Entry:
    name: bytes
    crc: int
    size: int
    mode: int
    offset: int

    @property
    def flags(self) -> int:
        return 0 if self.name.isascii() else _UTF8


def write_bundle(files: Tree, name: str, target: BinaryIO) -> WrittenBundle:
    """Write the bundle of skill `name` into `target`, which is empty and can be sought in.

    Raises:
        EntryRefused: The archive that `files` come from changed since it was checked.
    """
    entries = [_write_file(files, path, name, target) for path in sorted(files.sizes)]
    index_at = target.tell()
    target.writelines(_central(entry) for entry in entries)
    index_size = target.tell() - index_at
    count = len(entries)
    target.write(_END.pack(b"PK\x05\x06", 0, 0, count, count, index_size, index_at, 0))
    return _measured(target)


def _write_file(files: Tree, path: str, name: str, target: BinaryIO) -> _Entry:
    offset = target.tell()
    raw_name = f"{name}/{path}".encode()
    # The header needs the checksum of what follows it, so it is written twice.
    target.write(_local(_Entry(raw_name, 0, 0, 0, offset)))
    crc = size = 0
    start = b""
    for piece in files.chunks(path):
        start = start or piece[:2]
        crc = crc32(piece, crc)
        size += len(piece)
        target.write(piece)
    mode = 0o755 if start == b"#!" else 0o644
    entry = _Entry(raw_name, crc, size, mode, offset)
    target.seek(offset)
    target.write(_local(entry))
    target.seek(0, 2)
    return entry


def _local(entry: _Entry) -> bytes:
    header = _LOCAL.pack(
        b"PK\x03\x04",
        _VERSION,
        entry.flags,
        _STORED,
        _MIDNIGHT,
        _FIRST_DAY,
        entry.crc,
        entry.size,
        entry.size,
        len(entry.name),
        0,
    )
    return header + entry.name


def _central(entry: _Entry) -> bytes:
    header = _CENTRAL.pack(
        b"PK\x01\x02",
        _UNIX | _VERSION,
        _VERSION,
        entry.flags,
        _STORED,
        _MIDNIGHT,
        _FIRST_DAY,
        entry.crc,
        entry.size,
        entry.size,
        len(entry.name),
        0,
        0,
        0,
        0,
        (stat.S_IFREG | entry.mode) << 16,
        entry.offset,
    )
    return header + entry.name


def _measured(target: BinaryIO) -> WrittenBundle:
    target.seek(0)
    digest = hashlib.sha256()
    size = 0
    while piece := target.read(_PIECE):
        digest.update(piece)
        size += len(piece)
    target.seek(0)
    return WrittenBundle(digest.hexdigest(), size)
