"""For tests: zips with any lie in them, byte by byte, and stand-ins for the ports."""

import io
import struct
import time
import zlib
from dataclasses import dataclass, field
from typing import BinaryIO
from uuid import UUID, uuid4

from assay_contracts.rpc import ProblemError, RegisterReply, RegisterSkill
from assay_ingest.ports import RecordsSilent, StorageUnavailable, UploadMissing
from assay_skillkit.check import check_archive

FILE = 0o100644
FOLDER = 0o040755
LONGEST_CHECK_S = 2.0
SKILL_MD = b"---\nname: demo\ndescription: Shows how a skill looks.\n---\n# Demo\n\nSay hello.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a zip; what is None is told truthfully."""

    name: str | bytes
    data: bytes = b""
    method: int = 8
    packed: bytes | None = None
    """The packed bytes, whatever `data` is."""
    flags: int | None = None
    mode: int = FILE
    made_by: int = 3
    dos: int = 0
    crc: int | None = None
    size: int | None = None
    packed_size: int | None = None
    extra: bytes = b""
    offset: int | None = None
    disk: int = 0
    comment: bytes = b""
    local_name: bytes | None = None
    local_size: int | None = None
    local_method: int | None = None
    local_extra: bytes = b""
    local_flags: int | None = None
    local_crc: int | None = None
    local_packed_size: int | None = None
    after: bytes = b""
    """Bytes right behind the packed ones, such as a data descriptor."""

    @property
    def raw_name(self) -> bytes:
        return self.name if isinstance(self.name, bytes) else self.name.encode()

    @property
    def raw_flags(self) -> int:
        if self.flags is not None:
            return self.flags
        return 0 if self.raw_name.isascii() else 0x800

    @property
    def raw_packed(self) -> bytes:
        if self.packed is not None:
            return self.packed
        return deflated(self.data) if self.method == 8 else self.data


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _or(told: int | None, true: int) -> int:
    return true if told is None else told


def _local(entry: Entry) -> bytes:
    name = entry.raw_name if entry.local_name is None else entry.local_name
    crc = _or(entry.crc, zlib.crc32(entry.data))
    header = struct.pack(
        "<4s5H3L2H",
        b"PK\x03\x04",
        20,
        _or(entry.local_flags, entry.raw_flags),
        _or(entry.local_method, entry.method),
        0,
        0x21,
        _or(entry.local_crc, crc),
        _or(entry.local_packed_size, _or(entry.packed_size, len(entry.raw_packed))),
        _or(entry.local_size, _or(entry.size, len(entry.data))),
        len(name),
        len(entry.local_extra),
    )
    return header + name + entry.local_extra + entry.raw_packed + entry.after


def _central(entry: Entry, offset: int) -> bytes:
    header = struct.pack(
        "<4s6H3L5H2L",
        b"PK\x01\x02",
        entry.made_by << 8 | 20,
        20,
        entry.raw_flags,
        entry.method,
        0,
        0x21,
        _or(entry.crc, zlib.crc32(entry.data)),
        _or(entry.packed_size, len(entry.raw_packed)),
        _or(entry.size, len(entry.data)),
        len(entry.raw_name),
        len(entry.extra),
        len(entry.comment),
        entry.disk,
        0,
        entry.mode << 16 | entry.dos,
        _or(entry.offset, offset),
    )
    return header + entry.raw_name + entry.extra + entry.comment


def raw_zip(
    *entries: Entry,
    prefix: bytes = b"",
    before_index: bytes = b"",
    index_extra: bytes = b"",
    before_end: bytes = b"",
    suffix: bytes = b"",
    comment: bytes = b"",
    count: int | None = None,
    disk: int = 0,
    shift: int = 0,
) -> bytes:
    """A zip of `entries`, with whatever bytes are asked for between its parts.

    Offsets are true, except that `prefix` is not counted in them (as when a zip is appended to
    something) and that the table of contents is said to start `shift` bytes further on.
    """
    body = b""
    index = b""
    for entry in entries:
        index += _central(entry, len(body))
        body += _local(entry)
    body += before_index
    index += index_extra
    total = _or(count, len(entries))
    end = struct.pack(
        "<4s4H2LH",
        b"PK\x05\x06",
        disk,
        disk,
        total,
        total,
        len(index),
        len(body) + shift,
        len(comment),
    )
    return prefix + body + index + before_end + end + comment + suffix


def listed(body: bytes, *entries: Entry) -> bytes:
    """A zip whose table of contents lists `entries`, which lie at their `offset` in `body`."""
    index = b"".join(_central(entry, 0) for entry in entries)
    count = len(entries)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(index), len(body), 0)
    return body + index + end


def skill_zip(*more: Entry, skill_md: bytes = SKILL_MD) -> bytes:
    """A zip of a sound skill `demo` in its folder, with `more` entries."""
    return raw_zip(Entry(name="demo/SKILL.md", data=skill_md), *more)


def refusals(data: bytes) -> set[str]:
    """The codes of all errors in a zip, which was checked in time and spoken of in safe words."""
    # What the processor spent on it: a busy machine says nothing about the check.
    started = time.process_time()
    checked = check_archive(io.BytesIO(data), filename="upload.zip")
    assert time.process_time() - started < LONGEST_CHECK_S
    assert (checked.manifest is None) == bool(checked.errors)
    assert all(finding.fix and finding.message for finding in checked.findings)
    assert all((finding.path or "").isprintable() for finding in checked.findings)
    return {finding.code for finding in checked.errors}


def descriptor(data: bytes, packed: int, *, signature: bool = True, wide: bool = False) -> bytes:
    """The record that a streaming tool puts behind a file."""
    form = "<L2Q" if wide else "<3L"
    record = struct.pack(form, zlib.crc32(data), packed, len(data))
    return (b"PK\x07\x08" if signature else b"") + record


@dataclass(slots=True)
class FakeUploads:
    held: dict[UUID, bytes] = field(default_factory=dict)
    broken: bool = False

    def add(self, data: bytes) -> UUID:
        upload_id = uuid4()
        self.held[upload_id] = data
        return upload_id

    async def fetch(self, upload_id: UUID, target: BinaryIO) -> None:
        if self.broken:
            raise StorageUnavailable("the disk is full")
        if upload_id not in self.held:
            raise UploadMissing(str(upload_id))
        target.write(self.held[upload_id])

    async def discard(self, upload_id: UUID) -> None:
        if self.broken:
            raise StorageUnavailable("the disk is full")
        self.held.pop(upload_id, None)


@dataclass(slots=True)
class FakeBundles:
    held: dict[str, bytes] = field(default_factory=dict)
    broken: bool = False

    async def keep(self, key: str, bundle: BinaryIO) -> None:
        if self.broken:
            raise StorageUnavailable("the disk is full")
        self.held[key] = bundle.read()

    async def discard(self, key: str) -> None:
        self.held.pop(key, None)


@dataclass(slots=True)
class FakeRecords:
    """Records everything, unless told how to refuse."""

    registered: list[RegisterSkill] = field(default_factory=list)
    refusal: ProblemError | RecordsSilent | None = None
    revision: int = 1
    same_as: int | None = None

    async def register(self, skill: RegisterSkill) -> RegisterReply:
        if self.refusal is not None:
            raise self.refusal
        self.registered.append(skill)
        return RegisterReply(
            skill_id=uuid4(),
            revision=self.revision,
            status="pending",
            validation_id=uuid4() if skill.start_validation else None,
            same_as_revision=self.same_as,
        )
