"""Sealing: what a run installed becomes a lock, and the lock an environment."""

import asyncio
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.utils import canonicalize_name

from assay_contracts.environments import (
    MOST_LISTED,
    ChangedFile,
    EnvironmentLock,
    LockedFile,
    LockedPackage,
    NotSealed,
    SealedEnvironment,
)
from assay_contracts.runs import Package
from assay_sandboxes.command_environment import HOME
from assay_sandboxes.environments import rules
from assay_sandboxes.environments.conflicts import conflict
from assay_sandboxes.environments.fetching import Fetcher, NotFetched
from assay_sandboxes.environments.layers import Layers
from assay_sandboxes.environments.store import Contents
from assay_sandboxes.environments.unpacking import UnusablePackage
from assay_sandboxes.port import SEALED_AT, Base, EndedRun, HomeFile, Sandbox

_MOST_PACKAGES: Final = 500
_MOST_FILES: Final = 100
_MOST_FILE_BYTES: Final = 128 * 1024**2
_LISTED_CHARS: Final = 300
_NAME: Final = re.compile(r"@?[A-Za-z0-9][\w.+-]*(?:/[\w.-]+)?")

Key = tuple[str, str, str]
"""Ecosystem, name and place of a package: one of them can be at one version."""


class Sealer:
    """Makes locks of what runs installed."""

    def __init__(self, fetcher: Fetcher, layers: Layers, contents: Contents) -> None:
        self._fetcher = fetcher
        self._layers = layers
        self._contents = contents

    async def seal(
        self, lock: EnvironmentLock, base: Base, sandbox: Sandbox, ran: EndedRun
    ) -> tuple[EnvironmentLock, SealedEnvironment]:
        """What a later run starts from, and what came of sealing it.

        Args:
            lock: What the run started from.
            base: What every sandbox has.
            sandbox: The run's, still open; only data files are taken from it.
            ran: What is known of the run.

        Raises:
            SandboxUnavailable: it could not be found out.
        """
        packages = {key_of(package): package for package in lock.packages}
        added, not_sealed = await self._seal_packages(packages, base, ran)
        needed = _needed(ran)
        sealed_packages = tuple(
            _used_by(package, ran.skill) if key in added or key[:2] in needed else package
            for key, package in packages.items()
        )
        home = await sandbox.home_files()
        files, left_behind = await self._seal_files(lock, home, sandbox, ran)
        sealed = EnvironmentLock(base=base.name, packages=sealed_packages, files=files)
        brought = {key: packages[key] for key in added}
        known = await asyncio.to_thread(_paths, await self._folders(brought, base))
        left_behind = [file for file in left_behind if not _told_of(file, known)]
        new = [packages[key] for key in sorted(added)]
        return sealed, SealedEnvironment(
            digest=sealed.digest,
            added=tuple(new[:MOST_LISTED]),
            added_omitted=max(0, len(new) - MOST_LISTED),
            files=tuple(file for file in files if file.skill == ran.skill)[:MOST_LISTED],
            not_sealed=tuple(not_sealed[:MOST_LISTED]),
            left_behind=tuple(
                ChangedFile(path=file.path[:_LISTED_CHARS], size=file.size)
                for file in left_behind[:MOST_LISTED]
            ),
            left_behind_omitted=max(0, len(left_behind) - MOST_LISTED),
        )

    async def _seal_packages(
        self, packages: dict[Key, LockedPackage], base: Base, ran: EndedRun
    ) -> tuple[set[Key], list[NotSealed]]:
        """Put what was added or replaced into `packages`; return which, and what could not be."""
        had = {(key, version) for key, version, _ in _installed(ran.before)}
        new = [each for each in _installed(ran.after) if (each[0], each[1]) not in had]
        added: set[Key] = set()
        not_sealed: list[NotSealed] = []
        for key, version, package in new:
            what = f"{package.ecosystem} {package.name[:100]} {version[:100]}"
            result = (
                await self._seal_package(package, packages, base, ran.bundles)
                if len(added) < _MOST_PACKAGES
                else "an environment holds no more packages"
            )
            if isinstance(result, str):
                not_sealed.append(NotSealed(what=what, why=result[:400]))
                continue
            locked, left_out = result
            owners = packages[key].skills if key in packages else ()
            packages[key] = locked.model_copy(update={"skills": owners})
            added.add(key)
            not_sealed += (
                NotSealed(what=f"{path[:200]} of {package.name[:100]}", why=why[:400])
                for path, why in left_out.items()
            )
        return added, not_sealed

    async def _seal_package(
        self,
        package: Package,
        packages: Mapping[Key, LockedPackage],
        base: Base,
        bundles: Path,
    ) -> tuple[LockedPackage, Mapping[str, str]] | str:
        if not rules.may_be_fetched(
            package.ecosystem, package.name, package.version, package.place
        ):
            return "it does not lie where packages are shared, or is called what none can be"
        locked = await self._fetcher.fetch(package, base, bundles)
        if isinstance(locked, NotFetched):
            return locked.why
        archive = await self._contents.path(locked.sha256)
        assert archive is not None
        try:
            left_out = await self._layers.try_package(archive, locked, base)
        except UnusablePackage as error:
            return f"it cannot be unpacked: {error}"
        key = key_of(locked)
        others = {each: other for each, other in packages.items() if each != key}
        folder = await self._layers.package(locked, base)
        beside = await self._folders(others, base)
        why = await asyncio.to_thread(conflict, locked, folder, beside, base)
        return why if why is not None else (locked, left_out)

    async def _folders(
        self, packages: Mapping[Key, LockedPackage], base: Base
    ) -> list[tuple[LockedPackage, Path]]:
        return [(each, await self._layers.package(each, base)) for each in packages.values()]

    async def _seal_files(
        self, lock: EnvironmentLock, home: Sequence[HomeFile], sandbox: Sandbox, ran: EndedRun
    ) -> tuple[tuple[LockedFile, ...], list[HomeFile]]:
        """The files of the lock with those that this run brought, and what is left behind."""
        files = {file.path: file for file in lock.files}
        changed = [file for file in home if file.changed_at != SEALED_AT]
        left_behind: list[HomeFile] = []
        room = _MOST_FILE_BYTES
        count = 0
        for file in changed:
            if rules.is_cached_code(file.path):
                continue
            comes = file.data and rules.may_come_along(file.path) and file.size <= room
            taken = count < _MOST_FILES and file.path not in files
            locked = await self._take(file, sandbox, ran.skill) if comes and taken else None
            if locked is None:
                left_behind.append(file)
            else:
                files[file.path] = locked
                count, room = count + 1, room - file.size
        return tuple(files.values()), left_behind

    async def _take(self, file: HomeFile, sandbox: Sandbox, skill: str) -> LockedFile | None:
        (content,) = await sandbox.download([f"{HOME}/{file.path}"])
        if not isinstance(content, bytes) or len(content) != file.size:
            return None
        with tempfile.NamedTemporaryFile() as scratch:
            scratch.write(content)
            scratch.flush()
            sha256 = await self._contents.add(Path(scratch.name))
        return LockedFile(path=file.path, size=file.size, sha256=sha256, skill=skill)


def key_of(package: LockedPackage | Package) -> Key:
    name = canonicalize_name(package.name) if package.ecosystem == "pip" else package.name
    return package.ecosystem, name, package.place


def _installed(packages: Sequence[Package]) -> Iterator[tuple[Key, str, Package]]:
    for package in packages:
        if package.ecosystem in ("pip", "npm"):
            yield key_of(package), package.version, package


def _needed(ran: EndedRun) -> set[tuple[str, str]]:
    """The packages that the skill declares, and all that these need."""
    by_name = {key[:2]: package for key, _, package in _installed(ran.after)}
    pending = [key for key in by_name if key[1] in ran.declared]
    needed: set[tuple[str, str]] = set()
    while pending:
        key = pending.pop()
        if key in needed or key not in by_name:
            continue
        needed.add(key)
        for need in by_name[key].requires:
            name = _NAME.match(need)
            if name and "extra ==" not in need:
                pending.append((key[0], canonicalize_name(name[0]) if key[0] == "pip" else name[0]))
    return needed


def _used_by(package: LockedPackage, skill: str) -> LockedPackage:
    return package.model_copy(update={"skills": tuple(sorted({*package.skills, skill}))})


def _paths(folders: Sequence[tuple[LockedPackage, Path]]) -> set[str]:
    """All that packages bring, and the folders it lies in."""
    return {str(path.relative_to(folder)) for _, folder in folders for path in folder.rglob("*")}


def _told_of(file: HomeFile, known: Collection[str]) -> bool:
    """Whether packages bring it; package managers add notes of their own to what tells of one."""
    folder = PurePosixPath(file.path).parent
    return file.path in known or (folder.suffix == ".dist-info" and str(folder) in known)
