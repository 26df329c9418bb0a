"""Ways out that are tried many at once, in both network modes: none works, and each would have.

Whoever reads "nothing got out" has to know that the attempts were real: every probe is also run
where nothing of ours is in its way, and counts only if it works there.
"""

import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from assay_contracts.runs import NetworkMode
from assay_sandboxes.bubblewrap.host import layout
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.conformance.under_test import ProviderUnderTest
from assay_testkit.escapes import METADATA_AND_PRIVATE, PROBES, EscapeProbe, run_probes

SECRET = "hunter2-of-the-machine"
LEAST_PROVEN = 160
READ_ONLY = ("SKILL", "SKILL2", "SKILL3", "PROGRAM", "USERS", "RESOLVER", "HOSTS")
INSIDE: dict[str, object] = {
    "TARGET": 1,
    "FOLDER": "/workspace/folder",
    "SKILLS": "/workspace/skills/greeter",
    "SKILL": "/workspace/skills/greeter/SKILL.md",
    "SKILL2": "/workspace/skills/greeter/two.md",
    "SKILL3": "/workspace/skills/greeter/three.md",
    "PROGRAM": layout.INVENTORY,
    "USERS": "/etc/passwd",
    "RESOLVER": "/etc/resolv.conf",
    "HOSTS": "/etc/hosts",
    "SYSTEM": "/usr/bin",
    "TOP": "/",
    "DEVICES": "/dev",
}


def answer(server: socket.socket) -> None:
    """Say what is said, to whoever comes."""
    with suppress(OSError):
        while True:
            if server.type == socket.SOCK_DGRAM:
                said, asker = server.recvfrom(1)
                server.sendto(said, asker)
            else:
                there, _ = server.accept()
                with there:
                    there.sendall(there.recv(1))


def serving(stack: ExitStack, host: str, kind: int = socket.SOCK_STREAM) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = stack.enter_context(socket.socket(family, kind))
    server.bind((host, 0))
    if kind == socket.SOCK_STREAM:
        server.listen()
    threading.Thread(target=answer, args=(server,), daemon=True).start()
    return int(server.getsockname()[1])


def own_address() -> str:
    """An address of this machine that is not the loopback's, where it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def readable_address(process: int) -> int:
    """Of a process's memory, once it has become its program."""
    while not (lines := Path(f"/proc/{process}/maps").read_text().splitlines()):
        pass
    return int(next(line for line in lines if " r" in line).partition("-")[0], 16)


@contextmanager
def the_machine(folder: Path) -> Iterator[dict[str, object]]:
    """Things of the machine that nobody inside may have, and how they are called."""
    with ExitStack() as stack:
        secret = folder / "secret.txt"
        secret.write_text(SECRET)
        tool = folder / "tool"
        tool.write_text("#!/bin/sh\nexit 0\n")
        tool.chmod(0o755)
        os.mkfifo(folder / "pipe")
        marks = {}
        for name, place in (
            ("TMP", "/tmp"),
            ("SHM", "/dev/shm"),
            ("VAR", "/var/tmp"),
        ):  # the machine's
            path = Path(place, f"assay-mark-{os.getpid()}")
            path.write_text(SECRET)
            stack.callback(path.unlink)
            marks[f"MARK_{name}"] = str(path)
        victim = subprocess.Popen(
            [sys.executable, "-c", "import time\ntime.sleep(600)"],
            env={"TOKEN": SECRET},
            stdin=secret.open(),
            start_new_session=True,
        )
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        bus = stack.enter_context(socket.socket(socket.AF_UNIX))
        bus.bind(str(folder / "bus.sock"))
        abstract = f"assay-{os.getpid()}"
        for suffix, kind in (("", socket.SOCK_STREAM), ("d", socket.SOCK_DGRAM)):
            server = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
            server.bind(f"\0{abstract}{suffix}")
            if kind == socket.SOCK_STREAM:
                server.listen()
        bus.listen()
        key, libc = 0x5A0000 + os.getpid() % 60000, ctypes.CDLL(None)
        for made, end in (
            (libc.shmget(key, 64, 0o1666), lambda each: libc.shmctl(each, 0, None)),
            (libc.msgget(key, 0o1666), lambda each: libc.msgctl(each, 0, None)),
            (libc.semget(key, 1, 0o1666), lambda each: libc.semctl(each, 0, 0)),
        ):
            stack.callback(end, made)
        own = own_address()
        yield marks | {
            "SECRET_FILE": str(secret),
            "TOOL": str(tool),
            "PIPE": str(folder / "pipe"),
            "UNIX": str(folder / "bus.sock"),
            "ABSTRACT": abstract,
            "KEY": key,
            "VICTIM": victim.pid,
            "ADDRESS": readable_address(victim.pid),
            "STATE": str(folder / "state" / "sandboxes"),
            "PORT4": serving(stack, "0.0.0.0"),  # noqa: S104  # every way to it is tried
            "PORT6": serving(stack, "::1"),
            "PORT_UDP": serving(stack, "127.0.0.1", socket.SOCK_DGRAM),
            "OWN": own,
            "PORT_OWN": serving(stack, own),
        }


def copies(folder: Path, victim: object) -> dict[str, object]:
    """What a probe changes, as copies that it may change."""
    given: dict[str, object] = {"TARGET": victim, "FOLDER": str(folder / "folder")}
    for name in ("SKILLS", "SYSTEM", "TOP", "DEVICES"):
        (folder / name).mkdir()
        given[name] = str(folder / name)
    (folder / "SYSTEM" / "true").touch()
    for name in READ_ONLY:
        (folder / "SKILLS" / name).write_text("x")
        given[name] = str(folder / "SKILLS" / name)
    return given


def controls(given: dict[str, object], folder: Path) -> dict[str, str]:
    """What comes of each probe where nothing of ours is in its way."""
    folder.mkdir()
    given = given | copies(folder, given["VICTIM"])
    found: dict[str, str] = {}
    rooted = ("unshare", "-Urmpniu", "--fork", "--mount-proc")
    up = "import os; os.system('ip link set lo up')\n"
    for control, before, addresses in (
        ("plain", (), ()),
        ("rooted", rooted, METADATA_AND_PRIVATE),
    ):
        probes = [probe for probe in PROBES if probe.control == control]
        program = run_probes(probes, given, list(addresses))
        done = subprocess.run(
            [*before, sys.executable, "-"],
            input=(up if before else "") + program,
            capture_output=True,
            text=True,
            cwd=folder,
            check=True,
        )
        found |= json.loads(done.stdout)
    return found


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="system calls are named by number")
async def test_no_way_out_works_and_each_would_without_the_sandbox(
    bubblewrap: ProviderUnderTest, tmp_path: Path
) -> None:
    assert isinstance(bubblewrap.provider, BubblewrapProvider)
    for name in ("two.md", "three.md"):
        (bubblewrap.skills / "greeter" / name).write_text("x")
    with the_machine(tmp_path) as given:
        found = {
            network: await attempts(bubblewrap, network, given | INSIDE)
            for network in ("open", "blocked")
        }
        outside = controls(given, tmp_path / "control")
    for network, results in found.items():
        assert results.keys() == outside.keys()
        assert [name for name, said in results.items() if said == "worked"] == [], network
        assert not [said for said in results.values() if SECRET in said]
    proven = [name for name, said in outside.items() if said == "worked"]
    assert len(proven) >= LEAST_PROVEN, {
        name: said for name, said in outside.items() if said != "worked"
    }


async def attempts(
    bubblewrap: ProviderUnderTest, network: NetworkMode, given: dict[str, object]
) -> dict[str, str]:
    program = run_probes(list[EscapeProbe](PROBES), given, [])
    async with bubblewrap.open(network) as sandbox:
        await sandbox.upload([("/workspace/probes.py", program.encode())])
        done = await sandbox.execute("python3 probes.py > out.json; echo $?")
        assert done.stdout == "0\n", done.output
        (answer_,) = await sandbox.download(["/workspace/out.json"])
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"
    assert isinstance(answer_, bytes)
    results: dict[str, str] = json.loads(answer_)
    return results
