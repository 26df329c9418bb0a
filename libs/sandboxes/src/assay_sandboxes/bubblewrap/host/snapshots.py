"""Environments kept on this machine."""

import asyncio
import os
import secrets
import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from assay_sandboxes import host_processes
from assay_sandboxes.bubblewrap.host.folders import (
    HALF_MADE,
    HALF_MADE_FOR_S,
    age_s,
    remove_tree,
)
from assay_sandboxes.names import check_name
from assay_sandboxes.port import SandboxUnavailable, SnapshotMissing

_KEPT: Final = ".kept-"


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
        half_made = self._folder / f"{HALF_MADE}{secrets.token_hex(8)}"
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
        trash = self._folder / f"{HALF_MADE}{secrets.token_hex(8)}"
        with suppress(FileNotFoundError):
            self.path(name).rename(trash)
            self._mark(name).unlink(missing_ok=True)
            await asyncio.to_thread(remove_tree, trash)

    def expire(self) -> list[str]:
        """Remove snapshots past their time and what was left half made; return their names."""
        removed = []
        for path in sorted(self._folder.iterdir()) if self._folder.exists() else []:
            if path.name.startswith(HALF_MADE):
                if age_s(path) > HALF_MADE_FOR_S:
                    remove_tree(path)
            elif path.name.startswith(_KEPT) or self._mark(path.name).exists():
                continue
            elif age_s(path) > self._time_to_live.total_seconds():
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
