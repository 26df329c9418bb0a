"""What is put into a new sandbox in one transfer: our programs, and skills it does not have."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from assay_sandboxes.guest.survey import tree_digest
from assay_sandboxes.remote.guest_programs import program_files


def skill_digests(skills: Path) -> dict[str, str]:
    """Each skill in a folder of skills, with what changes when anything in it does."""
    return {folder.name: tree_digest(str(folder.resolve())) for folder in skills.iterdir()}


def pack_archive(skills: Path, wanted: Mapping[str, str], had: Mapping[str, str]) -> bytes:
    """An archive with our programs and with every skill of `wanted` that `had` does not have."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz", compresslevel=1) as archive:
        for path, content in program_files().items():
            entry = tarfile.TarInfo(f"programs/{path}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
        for name, digest in wanted.items():
            if had.get(name) != digest:
                archive.add((skills / name).resolve(), f"skills/{name}", filter=_without_owner)
    return target.getvalue()


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry
