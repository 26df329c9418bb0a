"""The sandboxes of the stand-in: a folder each, and a daemon in namespaces of its own."""

import asyncio
import json
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from assay_sandboxes.bubblewrap.bwrap import bwrap_path
from assay_testkit.daytona import toolbox

_FOLDERS: Final = ("opt", "workspace", "home", "tmp")
_START_S: Final = 20.0
_SETTINGS: Final = ("passwd", "group", "ssl", "alternatives", "ld.so.cache")
_ROOTS_RIGHTS: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETUID", "SETGID", "KILL", "SYS_PTRACE")


class MachineFiles:
    """The files of a sandbox, or of a snapshot."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self, source: "MachineFiles | None") -> None:
        if source is not None:
            shutil.copytree(source.path, self.path, symlinks=True)
            if os.geteuid() == 0:
                _copy_owners(source.path, self.path)
            return
        for name in _FOLDERS:
            (self.path / name).mkdir(parents=True)
            (self.path / name).chmod(0o755)
        (self.path / "tmp").chmod(0o1777)

    def remove(self) -> None:
        for folder, _, _ in os.walk(self.path):
            with suppress(OSError):
                Path(folder).chmod(0o700)
        shutil.rmtree(self.path, ignore_errors=True)


def _copy_owners(source: Path, target: Path) -> None:
    for folder, folders, names in os.walk(source):
        for name in (".", *folders, *names):
            there = Path(folder, name)
            kept = there.lstat()
            here = target / there.relative_to(source)
            os.chown(here, kept.st_uid, kept.st_gid, follow_symlinks=False)
            if not there.is_symlink():
                here.chmod(kept.st_mode & 0o7777)


class LocalMachine:
    """One sandbox: root inside where the tests are root, an ordinary user else."""

    def __init__(
        self, files: MachineFiles, *, cut_off: bool, known_hosts: str, lacks: frozenset[str]
    ) -> None:
        """`known_hosts` are lines of /etc/hosts, for a network that is to be found open."""
        self.files = files
        self._cut_off = cut_off
        self._known_hosts = known_hosts
        self._lacks = lacks
        self._run = files.path.with_name(files.path.name + ".run")
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._run.mkdir()
        settings = {
            "hosts": f"127.0.0.1 localhost\n{self._known_hosts}",
            "resolv.conf": "nameserver 127.0.0.11\n",  # as in a container
            "nsswitch.conf": "hosts: files dns\n",
        }
        for name, content in settings.items():
            (self._run / name).write_text(content)
            (self._run / name).chmod(0o644)
        self._process = await asyncio.create_subprocess_exec(
            str(bwrap_path()),
            *self._arguments(),
            *("/usr/bin/python3", "-I", "-S", "/toolbox/toolbox.py", "/toolbox/socket"),
            *(["without-seccomp"] if "seccomp" in self._lacks else []),
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home"},
            stdin=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(_START_S):
            while not (self._run / "socket").exists():  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.005)

    def _arguments(self) -> list[str]:
        shutil.copy(toolbox.__file__, self._run / "toolbox.py")
        arguments = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]
        if os.geteuid() == 0:
            arguments += ["--cap-drop", "ALL"]
            arguments += [word for name in _ROOTS_RIGHTS for word in ("--cap-add", f"CAP_{name}")]
        else:
            arguments += ["--unshare-user", "--uid", "1000", "--gid", "1000"]
        if self._cut_off:
            arguments += ["--unshare-net"]
        for name in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/var/lib/dpkg"):
            arguments += ["--ro-bind-try", name, name]
        arguments += ["--perms", "0755", "--dir", "/etc"]
        for name in _SETTINGS:
            arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        for name in ("hosts", "resolv.conf", "nsswitch.conf"):
            arguments += ["--ro-bind", str(self._run / name), f"/etc/{name}"]
        for name in _FOLDERS:
            arguments += ["--bind", str(self.files.path / name), f"/{name}"]
        arguments += ["--bind", str(self._run), "/toolbox", "--proc", "/proc", "--dev", "/dev"]
        if "strace" in self._lacks:
            arguments += ["--ro-bind", "/dev/null", "/usr/bin/strace"]
        if sys.base_prefix != "/usr":
            arguments += ["--ro-bind", sys.base_prefix, sys.base_prefix]
        return arguments

    async def ask(self, request: dict[str, Any], body: bytes = b"") -> tuple[dict[str, Any], bytes]:
        reader, writer = await asyncio.open_unix_connection(
            str(self._run / "socket"), limit=1 << 26
        )
        try:
            writer.write(json.dumps({**request, "size": len(body)}).encode() + b"\n" + body)
            await writer.drain()
            answer: dict[str, Any] = json.loads(await reader.readline())
            return answer, await reader.readexactly(answer["size"])
        finally:
            writer.close()

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        await asyncio.to_thread(self.files.remove)
        shutil.rmtree(self._run, ignore_errors=True)
