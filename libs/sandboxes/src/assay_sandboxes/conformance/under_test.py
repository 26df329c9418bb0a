"""A provider that is checked, and how to speak to its sandboxes."""

import shlex
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from assay_contracts.runs import NetworkMode, Package
from assay_sandboxes.command_environment import HOME
from assay_sandboxes.environments.layers import settle
from assay_sandboxes.port import Environment, Limits, Sandbox, SandboxProvider

MADE_UP: Final = Package(ecosystem="pip", name="made-up", version="1.2.3")
NOTES: Final = f"{HOME}/notes/tool.txt"
"""Says `kept`."""

LIMITS: Final = Limits(
    command_seconds=20,
    output_bytes=8 * 1024,
    memory_bytes=256 * 1024**2,
    processes=64,
    file_bytes=4 * 1024**2,
    workspace_bytes=16 * 1024**2,
    home_bytes=24 * 1024**2,
)
"""Of the sandboxes that are checked."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to ask a sandbox for what a shell has no word for."""

    install: Callable[..., str]
    """Install a package of that name and version, which needs what is named after that."""
    look_up: Callable[[str], str]
    look_up_all: Callable[..., str]
    """Let one process look up each of these names, one after another."""
    connect: Callable[[str, int], str]
    flood: Callable[[int], str]
    leave_running: Callable[[float], str]
    """Start something that goes on for so many seconds, and say `started`."""


def python(program: str) -> str:
    """The command that runs a Python program."""
    return f"python3 - <<'END'\n{program}\nEND"


def _metadata(name: str, version: str, *needs: str) -> str:
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    return head + "".join(f"Requires-Dist: {need}\n" for need in needs)


def _install(name: str, version: str, *needs: str) -> str:
    metadata = _metadata(name, version, *needs)
    return python(
        "import glob, os, shutil, site\n"
        f"for old in glob.glob(site.getusersitepackages() + '/{name}-*.dist-info'):\n"
        "    shutil.rmtree(old)\n"
        f"folder = site.getusersitepackages() + '/{name}-{version}.dist-info'\n"
        "os.makedirs(folder)\n"
        f"open(folder + '/METADATA', 'w').write({metadata!r})"
    )


REAL_SHELL: Final = Dialect(
    install=_install,
    look_up=lambda host: python(
        f"import socket\ntry: socket.getaddrinfo({host!r}, 80)\nexcept OSError: raise SystemExit(1)"
    ),
    look_up_all=lambda *hosts: python(
        f"import socket\nfor host in {hosts!r}:\n"
        "    try: socket.getaddrinfo(host, 80)\n    except OSError: pass"
    ),
    connect=lambda host, port: python(
        "import socket\n"
        f"try: socket.create_connection(({host!r}, {port}), 2)\n"
        "except OSError: raise SystemExit(1)"
    ),
    flood=lambda lines: f"yes line | head -n {lines}",
    leave_running=lambda seconds: f"sleep {seconds} & nohup sleep {seconds} & echo started",
)
"""A shell with Python."""
FAKE_SHELL: Final = Dialect(
    install=lambda *words: shlex.join(("install", *words)),
    look_up=lambda host: f"call {host}",
    look_up_all=lambda *hosts: shlex.join(("call", *hosts)),
    connect=lambda host, port: f"call {host}:{port}",
    flood=lambda lines: f"repeat {lines} line",
    leave_running=lambda _: "echo started",
)
"""The few words that the fake understands."""


def write_skills(folder: Path) -> Path:
    """Make the folder of skills that the checks look for; return it."""
    (folder / "greeter").mkdir(parents=True)
    (folder / "greeter" / "SKILL.md").write_text("# Greeter\n")
    return folder


@dataclass(frozen=True, slots=True)
class ProviderUnderTest:
    """A provider, what it says it can do, and skills to show in its sandboxes."""

    provider: SandboxProvider
    dialect: Dialect
    skills: Path
    """As `write_skills` makes them; checks may change them."""
    blocks_network: bool = True
    """Without it, a blocked sandbox is to be refused."""
    observes_calls: bool = True
    """Whether calls of a blocked sandbox are counted; without it, its proof is to say so."""

    def open(
        self,
        network: NetworkMode | None = None,
        *,
        name: str = "test",
        environment: Environment | None = None,
        limits: Limits = LIMITS,
    ) -> AbstractAsyncContextManager[Sandbox]:
        """A sandbox, without a network where that can be had."""
        network = network or ("blocked" if self.blocks_network else "open")
        return self.provider.open(
            name=name,
            skills=self.skills,
            network=network,
            environment=environment,
            limits=limits,
        )

    async def environment(self) -> Environment:
        """One with `MADE_UP` and `NOTES` in it."""
        base = await self.provider.base()
        layer = self.skills.parent / "layer"
        site = layer / f".local/lib/python{base.python_version}/site-packages"
        files = {
            site / "made_up-1.2.3.dist-info/METADATA": _metadata(MADE_UP.name, MADE_UP.version),
            layer / PurePosixPath(NOTES).relative_to(HOME): "kept",
        }
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        settle(layer, base.owner)
        return Environment(name="candidate", digest="0" * 64, layers=(layer,))
