"""Skills on this machine's disk: fetched once, checked, and laid out for a sandbox to mount."""

import asyncio
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from assay_contracts.runs import MountedSkill
from assay_contracts.skills import BundleRef
from assay_contracts.topology import BucketName
from assay_sandbox_runner.ports import MountedSkills, StoreFailed
from assay_servicekit.objects import ObjectMissing, ObjectStoreUnavailable
from assay_skillkit.bundle import Bundle, BundleUnreadable, read_bundle
from assay_skillkit.file_names import SKILL_MD
from assay_skillkit.names import SkillName

_UNUSED_S: Final = 24 * 3600.0
"""An unpacked bundle that nobody asked for this long is dropped; it can be fetched again."""
_FRESH_S: Final = 60.0
"""A folder this young may belong to a process that has not locked it yet."""
_HEAD_BYTES: Final = 256 * 1024
"""Read of a skill's text file."""
_NO_NEIGHBOURS: Final[Mapping[str, str]] = MappingProxyType({})


class Objects(Protocol):
    """The part of the object store that is needed here."""

    async def get(self, bucket: BucketName, key: str) -> bytes:
        """Raises ObjectMissing, ObjectStoreUnavailable."""


class BundlesOnDisk:
    """Unpacked bundles by their digest, and for each run a folder of skills linked to them."""

    def __init__(self, objects: Objects, root: Path) -> None:
        self._objects = objects
        self._cache = root / "bundles"
        self._mounts = root / "mounts"

    @asynccontextmanager
    async def mounted(
        self, skills: Sequence[MountedSkill], *, neighbours: Mapping[str, str] = _NO_NEIGHBOURS
    ) -> AsyncIterator[MountedSkills]:
        """A folder with one folder for each skill, named as asked for; gone afterwards.

        `neighbours` are laid out beside them: for each name, a SKILL.md.

        Raises:
            StoreFailed: a bundle is missing, could not be read, or is not what it should be.
            ValueError: a name that cannot be a skill's folder.
        """
        names = [SkillName(skill.name) for skill in skills]
        unpacked = [
            (name, await self._unpacked(skill.bundle))
            for name, skill in zip(names, skills, strict=True)
        ]
        with self._locked_folder() as folder:
            files = await asyncio.to_thread(_lay_out, unpacked, folder)
            files |= await asyncio.to_thread(_lay_out_neighbours, neighbours, folder)
            yield MountedSkills(folder=folder, files=files, neighbours=tuple(neighbours))

    async def manual(self, skills: MountedSkills, name: str) -> str:
        """The SKILL.md of one of them, a long one cut off; empty where it is not among them."""
        if SKILL_MD not in skills.files.get(name, ()):
            return ""
        head = await asyncio.to_thread(_head, skills.folder / name / SKILL_MD)
        return head.decode("utf-8", errors="replace")

    async def texts(self, skills: MountedSkills, names: Sequence[str]) -> Mapping[str, str]:
        """What each text file of the skills of these names says, long ones cut off."""
        paths = [f"{name}/{file}" for name in names for file in sorted(skills.files[name])]
        return await asyncio.to_thread(_texts, skills.folder, paths)

    async def file_texts(
        self, skills: MountedSkills, files: Collection[tuple[str, str]]
    ) -> list[str]:
        """As `texts`, of these files alone: each a skill's folder name and a path below it."""
        paths = [f"{name}/{file}" for name, file in sorted(files)]
        return list((await asyncio.to_thread(_texts, skills.folder, paths)).values())

    def sweep(self) -> list[str]:
        """Remove what dead processes left behind and bundles long unused; returns their names."""
        now = time.time()
        gone: list[str] = []
        for folder in _folders(self._mounts):
            if now - folder.stat().st_mtime > _FRESH_S and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)
                gone.append(folder.name)
        for folder in _folders(self._cache):
            if now - folder.stat().st_mtime > _UNUSED_S:
                shutil.rmtree(folder, ignore_errors=True)
                gone.append(folder.name)
        return gone

    async def _unpacked(self, bundle: BundleRef) -> Path:
        target = self._cache / bundle.sha256
        if target.is_dir():
            os.utime(target)
            return target
        try:
            data = await self._objects.get("bundles", bundle.key)
        except ObjectMissing as error:
            raise StoreFailed(f"bundle {bundle.key} is not in the object store") from error
        except ObjectStoreUnavailable as error:
            raise StoreFailed(str(error)) from error
        await asyncio.to_thread(_unpack, data, bundle, target)
        return target

    @contextmanager
    def _locked_folder(self) -> Iterator[Path]:
        self._mounts.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self._mounts))
        folder.chmod(0o755)
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)


def _texts(folder: Path, paths: Sequence[str]) -> dict[str, str]:
    heads = {path: _head(folder / path) for path in paths}
    return {
        path: head.decode("utf-8", errors="replace")
        for path, head in heads.items()
        if b"\0" not in head
    }


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)


def _folders(root: Path) -> list[Path]:
    return [entry for entry in root.iterdir() if entry.is_dir()] if root.is_dir() else []


def _is_abandoned(folder: Path) -> bool:
    """Whether no living process holds the lock that a run keeps on its folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(handle)


def _unpack(data: bytes, ref: BundleRef, target: Path) -> None:
    """Unpack beside the target and rename, so that nobody ever sees half a skill."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        bundle = read_bundle(data, ref)
    except BundleUnreadable as error:
        raise StoreFailed(str(error)) from error
    beside = Path(tempfile.mkdtemp(prefix=".", dir=target.parent))
    try:
        for path in bundle.files.sizes:
            _write(bundle, path, beside)
        beside.chmod(0o755)
        beside.rename(target)
    except OSError:
        if not target.is_dir():  # else another run was faster, with the same bytes
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _write(bundle: Bundle, path: str, folder: Path) -> None:
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as file:
        file.writelines(bundle.files.chunks(path))
    place.chmod(0o755 if bundle.is_program(path) else 0o644)


def _lay_out(unpacked: Sequence[tuple[str, Path]], folder: Path) -> dict[str, frozenset[str]]:
    """Link each bundle's files below its skill's name; the sandbox mounts them read-only."""
    files: dict[str, frozenset[str]] = {}
    for name, source in unpacked:
        target = folder / name
        shutil.copytree(source, target, copy_function=os.link)
        files[name] = frozenset(
            path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()
        )
    return files


def _lay_out_neighbours(neighbours: Mapping[str, str], folder: Path) -> dict[str, frozenset[str]]:
    for name, manual in neighbours.items():
        (folder / name).mkdir()
        (folder / name / "SKILL.md").write_text(manual, "utf-8")
    return dict.fromkeys(neighbours, frozenset({"SKILL.md"}))
