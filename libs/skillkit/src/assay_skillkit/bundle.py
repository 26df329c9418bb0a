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
import io
import stat
from dataclasses import dataclass, replace
from typing import BinaryIO, Final
from zipfile import ZipFile, ZipInfo

from assay_contracts.skills import BundleRef
from assay_skillkit.archive.read import read_entries
from assay_skillkit.file_names import SKILL_MD
from assay_skillkit.limits import LIMITS
from assay_skillkit.tree import SkillTree, Tree, read_start

_UNIX: Final = 3
_FIRST_TIME: Final = (1980, 1, 1, 0, 0, 0)
_PROGRAM_START: Final = b"#!"
_CHUNK: Final = 1024 * 1024
_LIMITS: Final = replace(LIMITS, packed=LIMITS.unpacked + LIMITS.index * 2)
"""Files are stored as they are, and each has a header in front and a line in the index."""


@dataclass(frozen=True, slots=True)
class WrittenBundle:
    sha256: str
    size: int


class BundleUnreadable(Exception):
    """The stored bytes are not the bundle that was asked for."""


@dataclass(frozen=True, slots=True)
class Bundle:
    name: str
    """Of the folder that its files lie in."""
    files: SkillTree

    def is_program(self, path: str) -> bool:
        """Whether the file can be run by its name."""
        return read_start(self.files, path, len(_PROGRAM_START)) == _PROGRAM_START


def write_bundle(files: Tree, name: str, target: BinaryIO) -> WrittenBundle:
    """Write the bundle of skill `name` into `target`, which is empty and can be sought in.

    Raises:
        EntryRefused: The archive that `files` come from changed since it was checked.
    """
    with ZipFile(target, "w") as archive:
        for path in sorted(files.sizes):
            entry = ZipInfo(f"{name}/{path}", _FIRST_TIME)
            entry.create_system = _UNIX
            start = b""
            with archive.open(entry, "w") as stored:
                for chunk in files.chunks(path):
                    start = start or chunk[: len(_PROGRAM_START)]
                    stored.write(chunk)
            mode = 0o755 if start == _PROGRAM_START else 0o644
            # Kept by the archive's index alone, which is written last.
            entry.external_attr = (stat.S_IFREG | mode) << 16
    return _measured(target)


def read_bundle(data: bytes, ref: BundleRef) -> Bundle:
    """Verify a stored bundle byte by byte. Its files are read from `data` as they are asked for.

    Raises:
        BundleUnreadable: Its digest is another, it is no sound zip, or it holds no skill.
    """
    digest = hashlib.sha256(data).hexdigest()
    if digest != ref.sha256:
        raise BundleUnreadable(f"Bundle {ref.key} has sha256 {digest}, not {ref.sha256}.")
    archive = read_entries(io.BytesIO(data), _LIMITS, keep_junk=True)
    wrong = next((finding for finding in archive.findings if finding.severity == "error"), None)
    if archive.tree is None or wrong is not None:
        why = f": {wrong.message} ({wrong.path or 'as a whole'})" if wrong else ""
        raise BundleUnreadable(f"Bundle {ref.key} is no readable zip{why}")
    paths = {path.partition("/")[2]: path for path in archive.tree.sizes}
    folders = {path.partition("/")[0] for path in paths.values()}
    if len(folders) != 1:
        raise BundleUnreadable(f"Bundle {ref.key} does not hold exactly one folder.")
    name = folders.pop()
    if SKILL_MD not in paths:
        raise BundleUnreadable(f"Bundle {ref.key} has no readable {name}/{SKILL_MD}.")
    sizes = {path: archive.tree.sizes[there] for path, there in paths.items()}
    return Bundle(name, SkillTree(archive.tree, paths, sizes))


def _measured(target: BinaryIO) -> WrittenBundle:
    target.seek(0)
    digest = hashlib.sha256()
    size = 0
    while chunk := target.read(_CHUNK):
        digest.update(chunk)
        size += len(chunk)
    target.seek(0)
    return WrittenBundle(digest.hexdigest(), size)
