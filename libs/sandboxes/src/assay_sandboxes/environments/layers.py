"""Layers: folders of unpacked packages and files, each known by what it is made from."""

import asyncio
import hashlib
import os
import secrets
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from assay_contracts.environments import EnvironmentLock, LockedFile, LockedPackage
from assay_sandboxes.bubblewrap.host.folders import HALF_MADE, remove_tree
from assay_sandboxes.environments.store import Contents
from assay_sandboxes.environments.unpacking import Bounds, UnusablePackage, unpack
from assay_sandboxes.port import SEALED_AT, Base, SandboxUnavailable

_COMPILE_S: Final = 300.0
_FORM: Final = "1"
"""Of layers; what is laid out in another way is another layer."""


class Layers:
    """Makes layers on this machine's disk from contents, and finds them again."""

    def __init__(self, folder: Path, contents: Contents, bounds: Bounds) -> None:
        self._folder = folder
        self._contents = contents
        self._bounds = bounds

    async def of(self, lock: EnvironmentLock, base: Base) -> tuple[Path, ...]:
        """The layers of an environment, the lowest first.

        Raises:
            SandboxUnavailable: something that it is made from is nowhere to be found.
        """
        layers = []
        if lock.packages:
            folders = {package: await self.package(package, base) for package in lock.packages}
            named = (f"{each.sha256} {each.source} {each.place}" for each in lock.packages)
            key = _key(base, *named)
            layers.append(await self._made(key, partial(_link_all, list(folders.values()))))
        if lock.files:
            sources = {file: await self._content(file.sha256, file.path) for file in lock.files}
            key = _key(base, *(f"{file.path} {file.sha256}" for file in lock.files))
            layers.append(await self._made(key, partial(_copy_files, sources, base.owner)))
        return tuple(layers)

    async def package(self, package: LockedPackage, base: Base) -> Path:
        """A folder with what one package brings, and nothing that the rules refuse.

        Raises:
            SandboxUnavailable: its bytes are nowhere to be found, or of no use.
        """
        archive = await self._content(package.sha256, f"{package.name} {package.version}")
        key = _key(base, package.ecosystem, package.sha256, package.source, package.place)

        def make(target: Path) -> None:
            _lay_out(archive, package, base, target, self._bounds)

        try:
            return await self._made(key, make)
        except UnusablePackage as error:
            raise SandboxUnavailable(f"{package.name} cannot be unpacked: {error}") from error

    async def try_package(
        self, archive: Path, package: LockedPackage, base: Base
    ) -> Mapping[str, str]:
        """What of a package would be left out.

        Raises:
            UnusablePackage: it is none.
        """

        def trial() -> Mapping[str, str]:
            half_made = self._half_made()
            try:
                return unpack(archive, package, base, half_made, self._bounds)
            finally:
                remove_tree(half_made)

        return await asyncio.to_thread(trial)

    async def _content(self, sha256: str, what: str) -> Path:
        try:
            path = await self._contents.path(sha256)
        except OSError as error:
            raise SandboxUnavailable(f"{what} cannot be fetched: {error}") from error
        if path is None:
            raise SandboxUnavailable(
                f"the environment cannot be built: the bytes of {what} ({sha256[:12]}) are nowhere "
                "to be found; validate the skill again"
            )
        return path

    async def _made(self, key: str, make: Callable[[Path], None]) -> Path:
        """The folder of that key, made by `make` if there is none; whole or not at all."""
        path = self._folder / key
        if path.is_dir():
            os.utime(path)
            return path

        def work() -> None:
            half_made = self._half_made()
            try:
                make(half_made)
                with suppress(OSError):  # another one was faster, with the same contents
                    half_made.rename(path)
            finally:
                remove_tree(half_made)

        await asyncio.to_thread(work)
        return path

    def _half_made(self) -> Path:
        path = self._folder / f"{HALF_MADE}{secrets.token_hex(8)}"
        path.mkdir(parents=True, mode=0o755)
        return path


def _key(base: Base, *parts: str) -> str:
    content = "\n".join((_FORM, base.name, base.python, *parts))
    return hashlib.sha256(content.encode()).hexdigest()


def _lay_out(
    archive: Path, package: LockedPackage, base: Base, target: Path, bounds: Bounds
) -> None:
    unpack(archive, package, base, target, bounds)
    settle(target, base.owner)
    if package.ecosystem == "pip":
        # Compiled code knows its source by the time it was changed.
        _compile(target, base)
        settle(target, base.owner)


def _compile(folder: Path, base: Base) -> None:
    """Compile what can be: only reading it, by the sandboxes' own Python where it is ours too."""
    if not os.access(base.python, os.X_OK):
        return
    options = ("-q", "--invalidation-mode", "timestamp", "-s", str(folder))
    with suppress(subprocess.TimeoutExpired, OSError):
        subprocess.run(
            [base.python, "-I", "-S", "-m", "compileall", *options, str(folder)],
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_COMPILE_S,
            check=False,
        )


def settle(folder: Path, owner: int | None) -> None:
    """Give all of it the owner, the rights and the time that files of layers have."""
    for path in (*folder.rglob("*"), folder):
        if not path.is_symlink():
            runs = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if runs else 0o644)
        if owner is not None:
            os.chown(path, owner, owner, follow_symlinks=False)
        os.utime(path, (SEALED_AT, SEALED_AT), follow_symlinks=False)


def _link_all(folders: Sequence[Path], target: Path) -> None:
    """All these folders in one; the files are the same ones, so that it costs next to nothing."""
    for folder in folders:
        for path, names, files in os.walk(folder):
            below = os.path.relpath(path, folder)
            for name in names:
                made = target / below / name
                source = Path(path, name)
                if source.is_symlink():
                    _link(source, made)
                elif not made.is_dir():
                    made.mkdir()
                    _as(source, made)
            for name in files:
                _link(Path(path, name), target / below / name)
    if folders:
        _as(folders[0], target)


def _link(source: Path, target: Path) -> None:
    with suppress(FileExistsError):  # the same bytes: others were refused when it was sealed
        os.link(source, target, follow_symlinks=False)


def _as(source: Path, target: Path) -> None:
    state = source.stat()
    target.chmod(state.st_mode & 0o777)
    if os.geteuid() == 0:
        os.chown(target, state.st_uid, state.st_gid)
    os.utime(target, (SEALED_AT, SEALED_AT))


def _copy_files(sources: Mapping[LockedFile, Path], owner: int | None, target: Path) -> None:
    for file, source in sources.items():
        path = target / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
    settle(target, owner)
