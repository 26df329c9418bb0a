"""Reading a zip without trusting it: every claim is checked, every size is counted."""

import stat
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Final

from assay_contracts.skills import Finding
from assay_skillkit.archive.nested import nested_problems
from assay_skillkit.archive.paths import clashing_paths, is_junk, path_problems, relative_path
from assay_skillkit.archive.zip_index import BadArchive, IndexEntry, read_index
from assay_skillkit.archive.zip_layout import locate_entries
from assay_skillkit.limits import LIMITS, Limits
from assay_skillkit.rules import archive as rules
from assay_skillkit.show import shown

_STORED: Final = 0
_DEFLATED: Final = 8
_AES: Final = 99
_ENCRYPTED_FLAGS: Final = 0x0001 | 0x0040 | 0x2000
_PATCH_FLAG: Final = 0x0020
_DOS_FOLDER: Final = 0x10
_PIECE: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Member:
    """Where one file's packed bytes lie, and what they must come to."""

    path: str
    start: int
    packed: int
    size: int
    crc: int
    deflated: bool


class EntryRefused(Exception):
    """One entry's bytes are not what the archive says; `finding` says how."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True, slots=True)
class ArchiveTree:
    """The verified files of an archive. Reads from `file`, which must stay open and unchanged."""

    file: BinaryIO
    members: Mapping[str, Member]
    sizes: Mapping[str, int]
    limits: Limits

    def chunks(self, path: str) -> Iterator[bytes]:
        return unpacked(self.file, self.members[path], self.limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRead:
    """What was learnt: `tree` holds the files that are sound, or is None if nothing can be read."""

    findings: tuple[Finding, ...]
    tree: ArchiveTree | None = None
    folders: frozenset[str] = field(default_factory=frozenset)


def read_archive(file: BinaryIO, limits: Limits = LIMITS) -> ArchiveRead:
    """Check the zip in `file` and the archives inside it. Never raises for anything it holds.

    Memory stays within a few pieces of 256 KiB, except for archives inside the archive, which are
    looked into one at a time. Nothing is written anywhere.
    """
    read = read_entries(file, limits)
    if read.tree is None:
        return read
    return replace(read, findings=(*read.findings, *nested_problems(read.tree, limits)))


def read_entries(
    file: BinaryIO, limits: Limits = LIMITS, *, keep_junk: bool = False
) -> ArchiveRead:
    """Check the zip in `file` from end to end; what lies in archives inside it is not looked at.

    Args:
        file: Can be sought in; must stay open while the files are read.
        limits: How much it may hold.
        keep_junk: Whether what systems and tools leave behind is a part of it, too.
    """
    try:
        index = read_index(file, limits)
        starts, findings = locate_entries(file, index)
    except BadArchive as error:
        return ArchiveRead(findings=(error.finding,))
    trusted: list[tuple[IndexEntry, int]] = []
    for entry, start in zip(index.entries, starts, strict=True):
        problems = list(_entry_problems(entry, limits))
        findings.extend(problems)
        if start is not None and not any(p.severity == "error" for p in problems):
            trusted.append((entry, start))
    names = [entry.name for entry, _ in trusted if entry.name is not None]
    findings.extend(clashing_paths(names))
    findings.extend(_notes(names))
    if not keep_junk:
        trusted = [(e, start) for e, start in trusted if not is_junk(relative_path(e.name or ""))]
    folders, members = _folders_and_members(trusted)
    findings.extend(_count_problems(members, limits))
    sound, problems = _verified(file, members, limits)
    findings.extend(problems)
    tree = ArchiveTree(
        file=file,
        members={member.path: member for member in sound},
        sizes={member.path: member.size for member in sound},
        limits=limits,
    )
    return ArchiveRead(findings=tuple(findings), tree=tree, folders=folders)


def unpacked(file: BinaryIO, member: Member, limits: Limits) -> Iterator[bytes]:
    """The bytes of one file, verified as they come.

    Raises:
        EntryRefused: They are too many, too few, damaged, or out of proportion.
    """
    size = checksum = 0
    for piece in _inflated(file, member) if member.deflated else _stored(file, member):
        size += len(piece)
        if size > member.size:
            raise _size_mismatch(member, f"more than {member.size:,}")
        if size > limits.ratio_from and size > limits.ratio * member.packed:
            raise EntryRefused(
                rules.RATIO_EXCEEDED.at(
                    f"The file grows more than {limits.ratio}-fold when it is unpacked.",
                    member.path,
                )
            )
        checksum = zlib.crc32(piece, checksum)
        yield piece
    if size != member.size:
        raise _size_mismatch(member, f"{size:,}")
    if checksum != member.crc:
        raise EntryRefused(
            rules.ENTRY_CRC.at("The file is damaged: its checksum does not match.", member.path)
        )


def _size_mismatch(member: Member, real: str) -> EntryRefused:
    return EntryRefused(
        rules.ENTRY_SIZE_MISMATCH.at(
            f"The archive says the file has {member.size:,} bytes; it has {real}.", member.path
        )
    )


def _packed(file: BinaryIO, member: Member) -> Iterator[bytes]:
    at, end = member.start, member.start + member.packed
    while at < end:
        # Another member may have been read since: the position is set each time.
        file.seek(at)
        data = file.read(min(_PIECE, end - at))
        if not data:
            return
        at += len(data)
        yield data


_stored = _packed


def _inflated(file: BinaryIO, member: Member) -> Iterator[bytes]:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    corrupt = EntryRefused(
        rules.ENTRY_CORRUPT.at("The file is damaged: its packed bytes make no sense.", member.path)
    )
    try:
        for data in _packed(file, member):
            if inflater.eof:
                raise corrupt
            pending = data
            while pending:
                yield inflater.decompress(pending, _PIECE)
                pending = inflater.unconsumed_tail
        while not inflater.eof and (rest := inflater.decompress(b"", _PIECE)):
            yield rest
    except zlib.error:
        raise corrupt from None
    if not inflater.eof or inflater.unused_data:
        raise corrupt


def _entry_problems(entry: IndexEntry, limits: Limits) -> Iterator[Finding]:
    name = entry.shown_name
    if entry.name is None:
        yield rules.NAME_ENCODING.at("The name is not valid UTF-8.", name)
    elif entry.name == "" or relative_path(entry.name) != "":  # `./` is the archive's own root
        yield from path_problems(entry.name, limits)
    if entry.second_name is not None:
        yield rules.NAME_AMBIGUOUS.at(
            f"The entry has a second name, `{shown(entry.second_name)}`, for some readers.", name
        )
    if entry.flags & _ENCRYPTED_FLAGS or entry.method == _AES:
        yield rules.ENTRY_ENCRYPTED.at("The file is encrypted.", name)
    elif entry.method not in (_STORED, _DEFLATED) or entry.flags & _PATCH_FLAG:
        yield rules.ENTRY_METHOD.at(
            f"The file is packed in a way that is not supported (method {entry.method}).", name
        )
    elif entry.method == _STORED and entry.packed != entry.size:
        yield rules.ENTRY_SIZE_MISMATCH.at(
            f"The file is not packed, yet it is said to have {entry.size:,} bytes unpacked and "
            f"{entry.packed:,} packed.",
            name,
        )
    yield from _type_problems(entry, name)
    if entry.size > limits.one_file:
        yield rules.FILE_TOO_LARGE.at(
            f"The file has {entry.size:,} bytes; {limits.one_file:,} is the most.", name
        )


def _type_problems(entry: IndexEntry, name: str) -> Iterator[Finding]:
    mode = entry.attributes >> 16
    kind = stat.S_IFMT(mode)
    is_folder = name.endswith(("/", "\\"))
    if kind == stat.S_IFLNK:
        yield rules.ENTRY_SYMLINK.at("The entry is a link, which may point anywhere.", name)
    elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        yield rules.ENTRY_SPECIAL.at("The entry is a device, a pipe or a socket.", name)
    elif is_folder != _looks_like_folder(entry, is_folder):
        yield rules.ENTRY_TYPE_MISMATCH.at(
            "The entry is a file by one sign, a folder by another.", name
        )
    if is_folder and entry.size:
        yield rules.ENTRY_TYPE_MISMATCH.at("The entry is a folder, yet it has contents.", name)
    if mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX) and not is_folder:
        yield rules.ENTRY_SETUID.at("The file asks to run with another user's rights.", name)


def _looks_like_folder(entry: IndexEntry, by_name: bool) -> bool:
    """What the entry's attributes say it is; tools that leave them empty leave it to the name."""
    if kind := stat.S_IFMT(entry.attributes >> 16):
        return kind == stat.S_IFDIR
    return by_name or bool(entry.attributes & _DOS_FOLDER)


def _notes(names: list[str]) -> Iterator[Finding]:
    if any("\\" in name for name in names):
        yield rules.BACKSLASHES.at("The archive separates folders by `\\`; it was read as `/`.")
    if junk := [name for name in names if is_junk(relative_path(name))]:
        yield junk_note(len(junk), junk[0])


def junk_note(count: int, example: str) -> Finding:
    return rules.JUNK_DROPPED.at(
        f"{count} {'entry' if count == 1 else 'entries'} left behind by the system or a tool "
        f"{'was' if count == 1 else 'were'} left out, such as `{shown(example)}`."
    )


def _folders_and_members(
    trusted: list[tuple[IndexEntry, int]],
) -> tuple[frozenset[str], list[Member]]:
    folders: set[str] = set()
    members: dict[str, Member] = {}
    for entry, start in trusted:
        path = relative_path(entry.name or "")
        if path.endswith("/"):
            folders.add(path.rstrip("/"))
        elif path:
            members.setdefault(
                path,
                Member(path, start, entry.packed, entry.size, entry.crc, entry.method == _DEFLATED),
            )
    return frozenset(folders), list(members.values())


def _count_problems(members: list[Member], limits: Limits) -> Iterator[Finding]:
    if len(members) > limits.files:
        yield rules.TOO_MANY_FILES.at(
            f"The archive has {len(members):,} files; {limits.files:,} is the most."
        )
    total = sum(member.size for member in members)
    if total > limits.unpacked:
        yield rules.UNPACKED_TOO_LARGE.at(
            f"The files have {total:,} bytes in all; {limits.unpacked:,} is the most."
        )
    packed = sum(member.packed for member in members)
    if total > limits.ratio_from and total > limits.ratio * packed:
        yield rules.RATIO_EXCEEDED.at(
            f"The files grow more than {limits.ratio}-fold when they are unpacked."
        )


def _verified(
    file: BinaryIO, members: list[Member], limits: Limits
) -> tuple[list[Member], list[Finding]]:
    """The members whose bytes are what the archive says. Unpacks no more than the limits allow."""
    sound: list[Member] = []
    findings: list[Finding] = []
    budget = limits.unpacked
    for member in members[: limits.files]:
        if member.size > budget:
            continue
        budget -= member.size
        try:
            for _ in unpacked(file, member, limits):
                pass
        except EntryRefused as refused:
            findings.append(refused.finding)
        else:
            sound.append(member)
    return sound, findings
