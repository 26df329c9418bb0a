"""How tests speak to sandboxes of every kind, so that one set of tests holds for all."""

import shlex
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay_contracts.runs import NetworkMode
from assay_sandboxes.port import Limits, Sandbox, SandboxProvider

LIMITS: Final = Limits(
    command_seconds=20,
    output_bytes=8 * 1024,
    memory_bytes=256 * 1024**2,
    processes=64,
    file_bytes=4 * 1024**2,
    workspace_bytes=16 * 1024**2,
    home_bytes=24 * 1024**2,
)


@dataclass(frozen=True, slots=True)
class Speech:
    """How to ask a kind of sandbox for things that a shell has no word for."""

    install: Callable[..., str]
    """Install a package of that name and version, which needs what is named after that."""
    look_up: Callable[[str], str]
    connect: Callable[[str, int], str]
    flood: Callable[[int], str]
    leave_running: Callable[[float], str]
    """Start something that goes on for so many seconds, and say `started`."""


def python(program: str) -> str:
    """The command that runs a Python program."""
    return f"python3 - <<'END'\n{program}\nEND"


def _really_install(name: str, version: str, *needs: str) -> str:
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(
        f"Requires-Dist: {need}\n" for need in needs
    )
    return python(
        "import glob, os, shutil, site\n"
        f"for old in glob.glob(site.getusersitepackages() + '/{name}-*.dist-info'):\n"
        "    shutil.rmtree(old)\n"
        f"folder = site.getusersitepackages() + '/{name}-{version}.dist-info'\n"
        "os.makedirs(folder)\n"
        f"open(folder + '/METADATA', 'w').write({metadata!r})"
    )


REAL: Final = Speech(
    install=_really_install,
    look_up=lambda host: python(
        f"import socket\ntry: socket.getaddrinfo({host!r}, 80)\nexcept OSError: raise SystemExit(1)"
    ),
    connect=lambda host, port: python(
        "import socket\n"
        f"try: socket.create_connection(({host!r}, {port}), 2)\n"
        "except OSError: raise SystemExit(1)"
    ),
    flood=lambda lines: f"yes line | head -n {lines}",
    leave_running=lambda seconds: f"sleep {seconds} & nohup sleep {seconds} & echo started",
)
PRETENDED: Final = Speech(
    install=lambda *words: shlex.join(("install", *words)),
    look_up=lambda host: f"call {host}",
    connect=lambda host, port: f"call {host}:{port}",
    flood=lambda lines: f"repeat {lines} line",
    leave_running=lambda _: "echo started",
)


@dataclass(frozen=True, slots=True)
class Kit:
    """A provider, its speech, and skills to show in its sandboxes."""

    provider: SandboxProvider
    speech: Speech
    skills: Path

    def open(
        self,
        network: NetworkMode = "blocked",
        *,
        name: str = "test",
        base: str | None = None,
        limits: Limits = LIMITS,
    ) -> AbstractAsyncContextManager[Sandbox]:
        return self.provider.open(
            name=name, skills=self.skills, network=network, base=base, limits=limits
        )
