"""What lies on disk: a folder for each sandbox, what they have in common, and the snapshots.

A sandbox's folder is locked by the process that owns it for as long as that process lives, so
whoever can take the lock knows that the owner is dead, in whichever container it lived.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Self

from assay_sandboxes import host_processes
from assay_sandboxes.bubblewrap.host.memory_group import MemoryGroup
from assay_sandboxes.port import SandboxUnavailable, SnapshotMissing

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_HALF_MADE: Final = ".new-"
_KEPT: Final = ".kept-"
_HALF_MADE_FOR_S: Final = 3600.0
_DEATH_S: Final = 5.0


def check_name(name: str) -> str:
    """Return a name that may be that of a file.

    Raises:
        ValueError: it may not.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} cannot name a sandbox or a snapshot: use up to 128 letters, digits, "
            "dots, hyphens and underscores, with a letter or digit first"
        )
    return name


class SandboxFolder:
    """The folder of one sandbox, owned by this process."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def create(cls, sandboxes: Path, name: str) -> Self:
        """Make a folder for a sandbox of that name."""
        sandboxes.mkdir(parents=True, exist_ok=True, mode=0o700)
        identity = f"{check_name(name)}-{secrets.token_hex(4)}"
        # Locked before it gets its name: a sweep never sees it without its owner.
        half_made = sandboxes / f"{_HALF_MADE}{identity}"
        half_made.mkdir(mode=0o700)
        lock = os.open(half_made / "owner", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = half_made.rename(sandboxes / identity)
        return cls(path, lock)

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def log(self) -> Path:
        return self.path / "log"

    def record(self, processes: list[int], group: MemoryGroup | None) -> None:
        """Note what a sweep has to end if this process dies."""
        content = {
            "processes": [[pid, start_time(pid)] for pid in processes],
            "cgroup": str(group.path) if group else None,
        }
        (self.path / "record").write_text(json.dumps(content))

    async def remove(self) -> None:
        """Remove the folder and let go of it."""
        try:
            # What cannot be removed now, the next sweep tries again.
            with suppress(OSError):
                if any(self.home.glob("*")):
                    await asyncio.to_thread(remove_tree, self.path)
                else:  # a handful of files: quicker done than handed over
                    remove_tree(self.path)
        finally:
            os.close(self._lock)


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; none if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(text.rpartition(")")[2].split()[19])


@dataclass(frozen=True, slots=True)
class Swept:
    """What came of sweeping."""

    removed: list[str]
    """The ids of the sandboxes that are gone."""
    stuck: list[str]
    """Why others are not."""


def sweep_sandboxes(sandboxes: Path) -> Swept:
    """End and remove the sandboxes whose owners are dead."""
    removed: list[str] = []
    stuck: list[str] = []
    for path in sorted(sandboxes.iterdir()) if sandboxes.exists() else []:
        if path.name.startswith(_HALF_MADE):
            if _age_s(path) > _HALF_MADE_FOR_S:
                remove_tree(path)
            continue
        if _is_abandoned(path):
            try:
                _end(path)
                remove_tree(path)
                removed.append(path.name)
            except OSError as error:
                stuck.append(str(error))
    return Swept(removed, stuck)


def _is_abandoned(path: Path) -> bool:
    try:
        lock = os.open(path / "owner", os.O_RDWR)
    except FileNotFoundError:
        # Somebody is removing it, or died while removing it.
        return _age_s(path) > _HALF_MADE_FOR_S
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _end(path: Path) -> None:
    try:
        record = json.loads((path / "record").read_text())
    except (FileNotFoundError, ValueError):
        return
    for pid, started in record["processes"]:
        _kill(pid, started)
    if record["cgroup"]:
        with suppress(OSError):
            MemoryGroup(Path(record["cgroup"])).remove()


def _kill(pid: int, started: int | None) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # The descriptor holds whoever has the number now; the start time tells who that is.
        if started is None or start_time(pid) != started:
            return
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        deadline = time.monotonic() + _DEATH_S
        while start_time(pid) == started and time.monotonic() < deadline:
            time.sleep(0.01)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        os.close(descriptor)


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def remove_tree(path: Path) -> None:
    """Remove a folder, even one with folders in it that are closed to their owner."""
    if os.geteuid() != 0:
        for folder, names, _ in os.walk(path):
            for name in names:
                _open_up(Path(folder, name))
    # Somebody else may be removing it too.
    with suppress(FileNotFoundError):
        shutil.rmtree(path)


def _open_up(path: Path) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        path.chmod(stat.S_IRWXU)


class OwnFiles:
    """Files that sandboxes have in common, on disk once for each content."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, files: Mapping[str, bytes]) -> Path:
        """A folder with these files, for everyone to read."""
        digest = hashlib.sha256()
        for path, content in sorted(files.items()):
            digest.update(f"{path}\0{len(content)}\0".encode() + content)
        target = self._folder / digest.hexdigest()[:16]
        if not target.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=_HALF_MADE, dir=self._folder) as half_made:
                _write(files, Path(half_made, "own"))
                with suppress(OSError):  # another runner was faster, with the same files
                    Path(half_made, "own").rename(target)
        return target


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o644)
        path.parent.chmod(0o755)
    folder.chmod(0o755)


class Snapshots:
    """Kept environments: copies of sandboxes' home folders."""

    def __init__(self, folder: Path, time_to_live: timedelta) -> None:
        self._folder = folder
        self._time_to_live = time_to_live

    def path(self, name: str) -> Path:
        return self._folder / check_name(name)

    async def keep(self, home: Path, name: str) -> None:
        """Keep a copy of `home` under `name`, whole or not at all."""
        target = self.path(name)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        half_made = self._folder / f"{_HALF_MADE}{secrets.token_hex(8)}"
        try:
            await copy_tree(home, half_made)
            os.utime(half_made)
            await self.delete(name)
            half_made.rename(target)
        except BaseException:
            await host_processes.uninterrupted(asyncio.to_thread(remove_tree, half_made))
            raise

    async def restore(self, name: str, home: Path) -> None:
        """Copy a snapshot to `home`.

        Raises:
            SnapshotMissing: there is none of that name.
        """
        await copy_tree(self._existing(name), home)

    def keep_for_good(self, name: str) -> None:
        """Let a snapshot outlive its time, until it is deleted.

        Raises:
            SnapshotMissing: there is none of that name.
        """
        self._existing(name)
        self._mark(name).touch(mode=0o600)

    def _existing(self, name: str) -> Path:
        path = self.path(name)
        if not path.is_dir():
            raise SnapshotMissing(
                f"there is no snapshot {name!r}: it was deleted, has expired, or was taken on "
                "another machine; validate the skill again to make a new one"
            )
        return path

    def _mark(self, name: str) -> Path:
        return self._folder / f"{_KEPT}{name}"

    async def delete(self, name: str) -> None:
        trash = self._folder / f"{_HALF_MADE}{secrets.token_hex(8)}"
        with suppress(FileNotFoundError):
            self.path(name).rename(trash)
            self._mark(name).unlink(missing_ok=True)
            await asyncio.to_thread(remove_tree, trash)

    def expire(self) -> list[str]:
        """Remove snapshots past their time and what was left half made; return their names."""
        removed = []
        for path in sorted(self._folder.iterdir()) if self._folder.exists() else []:
            if path.name.startswith(_HALF_MADE):
                if _age_s(path) > _HALF_MADE_FOR_S:
                    remove_tree(path)
            elif path.name.startswith(_KEPT) or self._mark(path.name).exists():
                continue
            elif _age_s(path) > self._time_to_live.total_seconds():
                remove_tree(path)
                removed.append(path.name)
        return removed


async def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder with all its attributes, sharing blocks where the filesystem can.

    Raises:
        SandboxUnavailable: the copy failed.
    """
    with tempfile.TemporaryFile() as errors:
        code = await host_processes.run(
            ["cp", "--archive", "--reflink=auto", "--", str(source), str(target)], stderr=errors
        )
        if code != 0:
            errors.seek(0)
            said = errors.read(2000).decode(errors="replace").strip()
            raise SandboxUnavailable(f"cannot copy the environment: {said}")
