"""The folder in which an embedded stack keeps everything."""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from assay_cli.embedded.nats import new_passwords
from assay_contracts.topology import BusUser


class DataInUse(RuntimeError):
    """Another stack holds the folder."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Made once for each data folder, so that tokens and bus users survive a restart."""

    admin_token: str
    bus_passwords: dict[BusUser, str]
    jwt_secret: str | None = None
    """Signs tokens. None: the folder is of a version that had none."""


@dataclass(frozen=True, slots=True)
class Running:
    """How to reach the stack that holds a folder."""

    url: str
    token: str


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

    @property
    def signing_key(self) -> Path:
        """The private key that verdicts are signed with."""
        return self.root / "signing-key.pem"

    @property
    def public_key(self) -> Path:
        """What others verify signed verdicts with."""
        return self.root / "signing-key.pub.pem"

    @property
    def running_file(self) -> Path:
        return self.root / "running.json"

    def announce(self, running: Running) -> None:
        """Tell other commands of this user how to reach the stack, while the folder is held."""
        write_privately(self.running_file, json.dumps(asdict(running)))

    def running(self) -> Running | None:
        """The stack that holds the folder and is ready; None if there is none."""
        try:
            with (self.root / "lock").open() as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        except OSError:
            return None
        else:
            return None
        try:
            return Running(**json.loads(self.running_file.read_text()))
        except FileNotFoundError:
            return None

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
            self.running_file.unlink(missing_ok=True)
            yield

    def kept_secrets(self) -> Secrets | None:
        """None if no stack was ever started here."""
        try:
            return Secrets(**json.loads(self.secrets_file.read_text()))
        except FileNotFoundError:
            return None

    def secrets(self) -> Secrets:
        """What is kept; what is missing of it is made now."""
        kept = self.kept_secrets()
        made = Secrets(
            admin_token=kept.admin_token if kept else secrets.token_urlsafe(32),
            bus_passwords={**new_passwords(), **(kept.bus_passwords if kept else {})},
            jwt_secret=(kept and kept.jwt_secret) or secrets.token_urlsafe(48),
        )
        if made != kept:
            write_privately(self.secrets_file, json.dumps(asdict(made), indent=1))
        return made

    def ensure_signing_key(self) -> Path:
        """The private key's file, which is made if there is none."""
        if not self.signing_key.exists():
            key = Ed25519PrivateKey.generate()
            public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
            private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            write_privately(self.public_key, public.decode())
            write_privately(self.signing_key, private.decode())
        return self.signing_key

    def _folder(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def write_privately(path: Path, text: str) -> None:
    """Replace a file, all or nothing, with one that nobody else may read."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
