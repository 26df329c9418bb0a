"""What process 1 of a bubblewrap sandbox brings along from the machine: nothing to be had inside.

It is forked from the machine's launcher and never becomes another program, so its memory, its
program and whatever it has open are the machine's.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import assay_sandboxes
from assay_contracts.runs import NetworkMode
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.bubblewrap.host.warm_launcher import Launched, WarmLauncher
from assay_sandboxes.conformance.under_test import ProviderUnderTest, python
from assay_sandboxes.port import Sandbox

MACHINE = {
    path
    for path in (str(Path(assay_sandboxes.__file__).parent), sys.base_prefix, sys.prefix)
    if not path.startswith("/usr")  # which a sandbox has too
}
NAMESPACES = {"user", "mnt", "pid", "ipc", "uts", "cgroup", "net"}

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into process 1")


def process_one(kit: ProviderUnderTest) -> Path:
    """Its folder in the machine's /proc; the kit has one sandbox open."""
    assert isinstance(kit.provider, BubblewrapProvider)
    (first,) = (pid for above in children(kit.provider._launcher.pid) for pid in children(above))
    return Path("/proc", first)


def children(pid: object) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.parametrize("network", ["open", "blocked"])
async def test_a_sandbox_that_was_killed_before_it_was_ready_is_started_once_more(
    bubblewrap: ProviderUnderTest, monkeypatch: pytest.MonkeyPatch, network: NetworkMode
) -> None:
    assert isinstance(bubblewrap.provider, BubblewrapProvider)
    launch = WarmLauncher.launch
    launched: list[Launched] = []

    async def killed_at_first(self: WarmLauncher, *args: Any, **kwargs: Any) -> Launched:
        launched.append(await launch(self, *args, **kwargs))
        if len(launched) == 1:
            launched[0].sandbox.kill()
        return launched[-1]

    monkeypatch.setattr(WarmLauncher, "launch", killed_at_first)
    async with bubblewrap.open(network) as sandbox:
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"
    assert len(launched) == 2


LOOK = """
import os
def look(path):
    kind = os.lstat(path).st_mode >> 12
    return os.readlink(path) if kind == 10 else os.listdir(path) if kind == 4 else open(path).read()
for name in NAMES:
    try: print(name, "shows", look("/proc/1/" + name))
    except PermissionError: pass
    except OSError as error: print(name, "fails otherwise:", error)
"""


async def test_what_it_holds_cannot_be_had_from_inside(any_sandbox: Sandbox) -> None:
    links = ["cwd", "root", "exe", *(f"ns/{name}" for name in NAMESPACES)]
    folders, files = ["fd", "map_files"], ["environ", "mem", "maps", "auxv", "syscall", "fdinfo/0"]
    found = await any_sandbox.execute(python(f"NAMES = {links + folders + files}\n{LOOK}"))
    assert (found.output, found.exit_code) == ("", 0)
    through = await any_sandbox.execute("ls /proc/1/root/ /proc/1/cwd/; cat /proc/1/fd/0")
    assert through.stdout == ""
    assert through.stderr.count("Permission denied") == 3


async def test_what_it_shows_says_nothing_of_the_machine(any_sandbox: Sandbox) -> None:
    shown = await any_sandbox.execute(
        "cat /proc/[0-9]*/cmdline /proc/[0-9]*/comm; cat /proc/1/stat*"
    )
    assert not [path for path in MACHINE if path in shown.stdout]
    assert (await any_sandbox.execute("tr -d '\\0' < /proc/1/cmdline")).stdout == "sandbox"


@as_root
@pytest.mark.parametrize("network", ["open", "blocked"])
async def test_it_has_left_the_machine(bubblewrap: ProviderUnderTest, network: NetworkMode) -> None:
    async with bubblewrap.open(network) as sandbox:
        await sandbox.execute("true")
        has_left(process_one(bubblewrap), NAMESPACES)


def has_left(process: Path, namespaces: set[str]) -> None:
    held = sorted(str(path.readlink()).partition(":")[0] for path in (process / "fd").iterdir())
    assert held == ["/dev/null"] * 3 + ["pipe"] * 2 + ["socket"]
    assert (process / "root" / "workspace").is_dir()
    assert (process / "cwd").samefile(process / "root")
    assert (process / "environ").read_bytes() == b""
    for name in namespaces:
        assert (process / "ns" / name).readlink() != Path("/proc/self/ns", name).readlink()
    lines = (process / "status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines)
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    for rights in ("CapInh", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[rights], 16) == 0, rights
    assert "0" not in status["Uid"].split()


WATCH = """
import os
seen, open_to_us = 0, set()
print("watching", flush=True)
while not os.path.exists("/workspace/stop"):
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            seen += 1
            try: open_to_us.add(os.readlink("/proc/" + pid + "/exe"))
            except OSError: pass
assert seen > 0
print(sorted(open_to_us))
"""


async def test_its_forks_cannot_be_caught_before_they_become_commands(
    bubblewrap: ProviderUnderTest,
) -> None:
    async with bubblewrap.open() as sandbox:
        watching = asyncio.create_task(sandbox.execute(python(WATCH)))
        for _ in range(60):
            await sandbox.execute("true")
        await sandbox.upload([("/workspace/stop", b"")])
        watched = await watching
        assert watched.exit_code == 0, watched.output
        assert not [path for path in MACHINE if path in watched.stdout], watched.stdout


async def test_nothing_inside_outlives_the_process_above_it(bubblewrap: ProviderUnderTest) -> None:
    async with bubblewrap.open() as sandbox:
        await sandbox.execute("sleep 1000 &")
        process = process_one(bubblewrap)
        above = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        os.kill(above, 9)
        async with asyncio.timeout(10):
            while process.exists():
                await asyncio.sleep(0.01)
