"""The folder in which an embedded stack keeps everything."""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from assay_cli.embedded.nats import BUS_USERS, BusUser, new_passwords


class DataInUse(RuntimeError):
    """Another stack holds the folder."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Made once for each data folder, so that tokens and bus users survive a restart."""

    admin_token: str
    bus_passwords: dict[BusUser, str]


@dataclass(frozen=True, slots=True)
class DataFolder:
    root: Path

    @property
    def nats(self) -> Path:
        return self.root / "nats"

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def sockets(self) -> Path:
        return self.root / "sockets"

    @property
    def secrets_file(self) -> Path:
        return self.root / "secrets.json"

    def state(self, service: str) -> Path:
        """Scratch space of one service."""
        return self._folder(f"state/{service}")

    def log(self, process: str) -> Path:
        return self._folder("logs") / f"{process}.log"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder for this process. Raises DataInUse while another one does."""
        self._folder(".")
        with (self.root / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                lock.seek(0)
                raise DataInUse(
                    f"Another stack (process {lock.read().strip() or 'unknown'}) uses {self.root}:"
                    " stop it, or name another folder with --data."
                ) from error
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield

    def secrets(self) -> Secrets:
        """What is kept, made now if there is nothing yet."""
        kept: Secrets | None = None
        if self.secrets_file.exists():
            kept = Secrets(**json.loads(self.secrets_file.read_text()))
            if set(kept.bus_passwords) == set(BUS_USERS):
                return kept
        made = Secrets(
            admin_token=kept.admin_token if kept else secrets.token_urlsafe(32),
            bus_passwords={**new_passwords(), **(kept.bus_passwords if kept else {})},
        )
        self._write_privately(json.dumps(asdict(made), indent=1))
        return made

    def _write_privately(self, text: str) -> None:
        unfinished = self.secrets_file.with_suffix(".new")
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.secrets_file)

    def _folder(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder
