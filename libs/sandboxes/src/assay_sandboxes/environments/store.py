"""What environments are kept in: records by name, and contents by their digest."""

import asyncio
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final, Protocol

from pydantic import AwareDatetime

from assay_contracts.base import Model
from assay_contracts.environments import EnvironmentLock
from assay_sandboxes.bubblewrap.host.folders import age_s
from assay_sandboxes.names import check_name


class EnvironmentRecord(Model):
    """An environment under a name."""

    lock: EnvironmentLock
    made_at: AwareDatetime
    kept: bool = False
    """Whether it outlives its time."""


class EnvironmentStore(Protocol):
    """Keeps records and contents where every runner finds them. Methods raise `OSError`.

    What is not kept may be gone after a week.
    """

    async def read(self, name: str) -> EnvironmentRecord | None: ...

    async def write(self, name: str, record: EnvironmentRecord) -> None:
        """Replaces what was there."""

    async def delete(self, name: str) -> None:
        """Contents that only this environment needed may go with it."""

    async def fetch(self, sha256: str, target: Path) -> bool:
        """Write a content to `target`; whether there is one."""

    async def store(self, sha256: str, source: Path, *, kept: bool = False) -> None: ...


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_SENT_AGAIN_AFTER_S: Final = 24 * 3600.0


class Contents:
    """Files by their digest on this machine's disk; what is missing is fetched from the store."""

    def __init__(self, folder: Path, store: EnvironmentStore) -> None:
        self._folder = folder
        self._store = store

    async def path(self, sha256: str) -> Path | None:
        """Where a content lies on this machine; None if there is none anywhere. Raises OSError."""
        path = self._folder / check_name(sha256)
        if path.exists():
            os.utime(path)
            return path
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=self._folder) as scratch:
            fetched = Path(scratch, sha256)
            if not await self._store.fetch(sha256, fetched):
                return None
            # What travels is believed by its digest alone.
            if await asyncio.to_thread(sha256_of, fetched) != sha256:
                return None
            await asyncio.to_thread(fetched.rename, path)
        return path

    async def add(self, source: Path) -> str:
        """Keep a file here and in the store; return its digest. Raises OSError."""
        sha256 = await asyncio.to_thread(sha256_of, source)
        path = self._folder / sha256
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self._send(sha256, source)
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=self._folder) as scratch:
                half_made = Path(scratch, sha256)
                await asyncio.to_thread(shutil.copyfile, source, half_made)
                await asyncio.to_thread(half_made.rename, path)
        return sha256

    async def keep(self, sha256: str) -> bool:
        """See that a content stays in the store; whether there is one. Raises OSError."""
        path = await self.path(sha256)
        if path is not None:
            await self._store.store(sha256, path, kept=True)
        return path is not None

    async def _send(self, sha256: str, source: Path) -> None:
        """Have it in the store for a while longer."""
        sent = self._folder / f"{sha256}.sent"
        if not sent.exists() or age_s(sent) > _SENT_AGAIN_AFTER_S:
            await self._store.store(sha256, source)
            sent.touch()
