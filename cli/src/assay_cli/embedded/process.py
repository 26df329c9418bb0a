"""One child process that cannot outlive us."""

import asyncio
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.03
LOG_TAIL_BYTES = 4096
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


class StartFailed(RuntimeError):
    """A process did not become ready; the message says which, why, and where its log lies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """How to start, recognise as ready, and stop one process."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    log: Path
    ready: Callable[[int], bool]
    """Asked with the process's id until it says yes."""
    ready_within_s: float = 60.0
    stop_signal: signal.Signals = signal.SIGTERM
    stop_within_s: float = 10.0
    orphan_signal: signal.Signals = signal.SIGKILL
    """What the kernel sends it should we die without a chance to stop it."""


def _die_with(parent: int, orphan_signal: signal.Signals) -> Callable[[], None]:
    def prepare() -> None:
        _LIBC.prctl(PR_SET_PDEATHSIG, int(orphan_signal), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


class Child:
    """A running process in a session of its own.

    The kernel ties its life to the *thread* that makes it: make it where the program lives on.
    """

    def __init__(self, spec: ProcessSpec) -> None:
        """Start it. Raises OSError when the command cannot be executed."""
        self.spec = spec
        self._buried = False
        with spec.log.open("ab") as log:
            self._process = subprocess.Popen(
                spec.command,
                env=dict(spec.env),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with(os.getpid(), spec.orphan_signal),  # noqa: PLW1509  # takes no lock
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; negative when a signal ended it."""
        return self._process.poll()

    async def exited(self) -> int:
        """Wait for its end and return the exit code."""
        loop = asyncio.get_running_loop()
        if (code := self.exit_code()) is not None:
            return code
        ended = asyncio.Event()
        descriptor = os.pidfd_open(self.pid)
        loop.add_reader(descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        return self._process.wait()

    def is_ready(self) -> bool:
        return self.spec.ready(self.pid)

    def wait_ready(self) -> None:
        """Block until it is ready. Raises StartFailed; the process is then gone."""
        deadline = time.monotonic() + self.spec.ready_within_s
        while not self.is_ready():
            if (code := self.exit_code()) is not None:
                raise self.start_failure(code)
            if time.monotonic() > deadline:
                self.stop()
                raise self.start_failure(None)
            time.sleep(POLL_S)

    def start_failure(self, code: int | None) -> StartFailed:
        happened = (
            f"was not ready after {self.spec.ready_within_s:.0f} s"
            if code is None
            else f"ended with {describe_exit(code)} before it was ready"
        )
        return StartFailed(
            f"{self.spec.name} {happened}: {self.last_words()}. See {self.spec.log}."
        )

    def last_words(self) -> str:
        """The last line of its log."""
        with self.spec.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
            lines = log.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "no output")

    def stop(self) -> None:
        """Ask it to end, wait as long as it is given, then kill it and whatever it left behind."""
        if self.exit_code() is None:
            self._process.send_signal(self.spec.stop_signal)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(self.spec.stop_within_s)
        self.kill()

    def kill(self) -> None:
        """End it and whatever is left of its process group, at once. A second call does nothing."""
        if self._buried:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        # The kernel may give its id to a stranger from now on.
        self._buried = True


def describe_exit(code: int) -> str:
    """`-9` gives `signal SIGKILL`, `1` gives `exit code 1`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
