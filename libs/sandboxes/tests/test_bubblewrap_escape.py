"""Ways out of a sandbox, each tried in both network modes: nothing gets out, and all goes on.

Each row is an attempt: what runs inside, and what must come of it. After every one of them the
sandbox answers, a neighbour that was working all along has not noticed, and the runner is well.
"""

import asyncio
import os
import re
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay_contracts.runs import NetworkMode
from assay_sandboxes.bubblewrap.host import layout
from assay_sandboxes.conformance.under_test import LIMITS, ProviderUnderTest, python
from assay_sandboxes.port import ExecResult, FileError, Sandbox

SECRET = "hunter2-of-the-machine"
NETWORKS: tuple[NetworkMode, ...] = ("open", "blocked")


@dataclass(frozen=True)
class Way:
    """A way out."""

    name: str
    command: str
    stopped: Callable[[ExecResult], bool]
    """Whether it came to nothing, for a reason that shows."""
    timeout_s: float = 10.0


def refused(*words: str) -> Callable[[ExecResult], bool]:
    """It failed, and says one of these words."""

    def stopped(result: ExecResult) -> bool:
        return result.exit_code != 0 and any(word in result.output for word in words)

    return stopped


def says(pattern: str) -> Callable[[ExecResult], bool]:
    return lambda result: re.fullmatch(pattern, result.stdout.strip()) is not None


def system_call(*call: object) -> str:
    """A command that makes a system call by number and prints the name of the error."""
    arguments = ", ".join(map(str, call))
    return python(
        "import ctypes, errno\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"result = libc.syscall({arguments})\n"
        "print('done' if result >= 0 else errno.errorcode[ctypes.get_errno()])"
    )


READ_ONLY = refused("Read-only", "Permission denied")
DENIED = r"EPERM|ENOSYS|EACCES|ENOSPC|EINVAL|ESRCH"
FORK_BOMB = python("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
DISK_FILLER = (
    "n=0; while head -c 4000000 /dev/zero > {place}/part$n; do n=$((n+1)); "
    "test $n -lt 400 || exit 77; sleep 0.02; done; echo stopped at $n >&2; exit 9"
)
SIGNALS = "kill -9 1; kill -STOP 1; kill -TERM 1; kill -INT 1; kill -9 -- -1; sleep 5"

WAYS = [
    Way("host files", "cat /etc/shadow /root/.bashrc {secret}", refused("No such file")),
    Way(
        "host files by process 1",
        "cat /proc/1/root{secret}",
        refused("Permission denied", "No such"),
    ),
    Way("host files by links", "ln -s {secret} link; cat link", refused("No such file")),
    Way("host environment", "cat /proc/*/environ; env", lambda r: SECRET not in r.output),
    Way("host processes", "ls -d /proc/{runner} || kill -0 {runner}", refused("No such")),
    Way(
        "host home and data", "ls /var/lib /opt /srv /home/*/..", lambda r: "assay" not in r.stdout
    ),
    Way(
        "other sandboxes' workspaces",
        "cat {neighbour} /workspace/../*/mine",
        refused("No such file"),
    ),
    Way(
        "bus, by socket file",
        "python3 -c \"{unix}.connect('{socket}')\"",
        refused("FileNotFoundError"),
    ),
    Way("devices", "cat /dev/mem /dev/sda /dev/kmsg /dev/kvm", refused("No such file", "denied")),
    Way("setuid", "cp /bin/sh . && chmod u+s sh && ./sh -p -c 'id -u'", says("1000")),
    Way("setuid programs", "su -c id root </dev/null; sudo -n id; passwd -S root", refused("")),
    Way("ptrace of process 1", system_call(101, 16, 1, 0, 0), says(DENIED)),
    Way("memory of process 1", "head -c 1 /proc/1/mem", refused("Permission denied")),
    Way("descriptors of process 1", "ls /proc/1/fd", refused("Permission denied")),
    Way("mount", system_call(165, 'b"none"', 'b"/workspace"', 'b"tmpfs"', 0, 0), says(DENIED)),
    Way("unmount", system_call(166, 'b"/workspace/skills"', 2), says(DENIED)),
    Way("new user namespace", system_call(272, 0x10000000), says(DENIED)),
    Way("new mount namespace", system_call(272, 0x20000), says(DENIED)),
    Way(
        "entering namespaces",
        system_call(308, "__import__('os').open('/proc/self/ns/net', 0)", 0),
        says(DENIED),
    ),
    Way("other root", system_call(161, 'b"/workspace"'), says(DENIED)),
    Way("making devices", system_call(133, 'b"/workspace/disk"', 0o60666, 0x800), says(DENIED)),
    Way("kernel programs", system_call(321, 0, 0, 0), says(DENIED)),
    Way("kernel keys", system_call(250, 0, -3, 0), says(DENIED)),
    Way("a ring around the filter", system_call(425, 1, 0), says(DENIED)),
    Way("kernel modules", system_call(175, 0, 0, 'b""'), says(DENIED)),
    Way("a new clock", system_call(227, 0, 0), says(DENIED + "|EFAULT")),
    Way(
        "a debugger's personality",
        "echo 1 > /proc/sys/kernel/core_pattern",
        refused("Read-only", "denied"),
    ),
    Way("skills", "echo x >> skills/greeter/SKILL.md", READ_ONLY),
    Way("our own programs", f"echo x >> {layout.INVENTORY}", READ_ONLY),
    Way("the machine's programs", "echo x > /usr/bin/python3", refused("Read-only", "denied")),
    Way("vsock", python("import socket; socket.socket(40, 1)"), refused("not supported")),
    Way("packet sockets", python("import socket; socket.socket(17, 3)"), refused("not supported")),
    Way("raw sockets", python("import socket; socket.socket(2, 3, 1)"), refused("not permitted")),
    Way("fork bomb", FORK_BOMB, lambda r: r.timed_out and r.exit_code == 124, timeout_s=1.5),
    Way(
        "memory hog",
        python(f"x = b'x' * {LIMITS.memory_bytes * 2}"),
        lambda r: "MemoryError" in r.stderr or r.exit_code == 137,
    ),
    Way(
        "memory hog in files",
        f"head -c {LIMITS.workspace_bytes * 2} /dev/zero | tail -c 100 > x; cat /dev/zero > big",
        refused("No space left", "File too large", "File size"),
    ),
    Way("disk filler, workspace", DISK_FILLER.format(place="/workspace"), refused("No space left")),
    Way("disk filler, temporary", DISK_FILLER.format(place="/tmp"), refused("No space left")),
    Way(
        "disk filler, shared memory", DISK_FILLER.format(place="/dev/shm"), refused("No space left")
    ),
    Way(
        "disk filler, home",
        DISK_FILLER.format(place="/home/agent"),
        refused("No space left"),
    ),
    Way("output flood", "yes & yes >&2", lambda r: r.timed_out and r.truncated, timeout_s=0.7),
    Way(
        "orphaned daemon",
        "setsid nohup sh -c 'trap \"\" TERM HUP; sleep {mark}' >/dev/null 2>&1 & echo left",
        says("left"),
    ),
    Way("signal to the parent", "kill -9 $PPID; sleep 0.1", lambda r: r.exit_code == 137),
    Way("signals to everyone", SIGNALS, lambda r: r.exit_code == 137),
]


@dataclass(frozen=True)
class Surroundings:
    """A sandbox in its mode, with a neighbour at work and secrets all around."""

    sandbox: Sandbox
    neighbour: Sandbox
    words: dict[str, str]


@pytest.fixture(params=NETWORKS)
async def surroundings(
    request: pytest.FixtureRequest,
    bubblewrap: ProviderUnderTest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Surroundings]:
    monkeypatch.setenv("SECRET_TOKEN", SECRET)
    secret, bus = tmp_path / "secret.txt", tmp_path / "bus.sock"
    secret.write_text(SECRET)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(bus))
        server.listen()
        async with bubblewrap.open(request.param) as sandbox, bubblewrap.open() as neighbour:
            await neighbour.upload([("/workspace/mine", SECRET.encode())])
            yield Surroundings(
                sandbox,
                neighbour,
                {
                    "secret": str(secret),
                    "socket": str(bus),
                    "runner": str(os.getpid()),
                    "mark": f"{os.getpid()}0042",
                    "neighbour": f"{tmp_path}/state/sandboxes/{neighbour.id}/home/mine",
                    "unix": "import socket; socket.socket(socket.AF_UNIX)",
                },
            )


def in_words(command: str, words: dict[str, str]) -> str:
    for name, value in words.items():
        command = command.replace("{" + name + "}", value)
    return command


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="system calls are named by number")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_it_is_no_way_out(surroundings: Surroundings, way: Way) -> None:
    at_work = asyncio.create_task(
        surroundings.neighbour.execute("for i in 1 2 3; do sleep 0.05; done; cat mine")
    )
    threads = threading.active_count()

    result = await surroundings.sandbox.execute(
        in_words(way.command, surroundings.words), timeout_s=way.timeout_s
    )

    assert way.stopped(result), result
    assert SECRET not in result.output
    assert (await surroundings.sandbox.execute("echo alive")).stdout == "alive\n"
    assert (await at_work).stdout == SECRET
    assert threading.active_count() <= threads + 2


def command_lines() -> str:
    """Of all the machine's processes."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found.append((folder / "cmdline").read_text())
    return "\n".join(found)


async def test_an_orphaned_daemon_ends_with_its_sandbox(bubblewrap: ProviderUnderTest) -> None:
    mark = f"{os.getpid()}0043"
    for network in NETWORKS:
        async with bubblewrap.open(network) as sandbox:
            await sandbox.execute(f"setsid nohup sleep {mark} >/dev/null 2>&1 &")
            listed = await sandbox.execute("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
            assert mark in listed.stdout
        assert mark not in await asyncio.to_thread(command_lines)


@pytest.mark.parametrize("network", ["open", "blocked"])
async def test_cloud_metadata_is_out_of_reach(
    bubblewrap: ProviderUnderTest, network: NetworkMode
) -> None:
    fetch = (
        "import urllib.request\nurllib.request.urlopen('http://169.254.169.254/latest/', None, 2)"
    )
    async with bubblewrap.open(network) as sandbox:
        result = await sandbox.execute(python(fetch))
        assert "Network is unreachable" in result.stderr
        (call,) = await sandbox.network_calls()
        assert call.destination == "169.254.169.254:80"


@pytest.mark.parametrize("network", ["open", "blocked"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "127.8.9.10"])
async def test_services_on_the_machines_loopback_are_out_of_reach(
    bubblewrap: ProviderUnderTest, network: NetworkMode, address: str
) -> None:
    """What stands for bus and database here."""
    host = "::1" if address == "::1" else "127.0.0.1"
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        port = server.getsockname()[1]
        program = f"import socket\nsocket.create_connection(('{address}', {port}), 2)"
        async with bubblewrap.open(network) as sandbox:
            assert "ConnectionRefusedError" in (await sandbox.execute(python(program))).stderr


@pytest.mark.parametrize("network", NETWORKS)
async def test_a_pointer_to_nowhere_is_the_callers_own_fault(
    bubblewrap: ProviderUnderTest, network: NetworkMode
) -> None:
    program = (
        "import ctypes, socket\nlibc = ctypes.CDLL(None, use_errno=True)\nsock = socket.socket()\n"
        "libc.connect(sock.fileno(), ctypes.c_void_p(2**64 - 4096), 16)\n"
        "print(ctypes.get_errno())"
    )
    async with bubblewrap.open(network) as sandbox:
        assert (await sandbox.execute(python(program))).stdout == "14\n"


async def test_nobody_sets_the_limits_of_process_1(bubblewrap: ProviderUnderTest) -> None:
    program = (
        "import resource\ntry: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))\n"
        "except PermissionError: print('refused')\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 3)"
    )
    async with bubblewrap.open("open") as sandbox:
        assert (await sandbox.execute(python(program))).stdout == "refused\nTrue\n"
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def test_what_proc_tells_of_process_1_cannot_be_downloaded(
    bubblewrap: ProviderUnderTest,
) -> None:
    paths = ["/proc/self/maps", "/proc/self/environ"]
    async with bubblewrap.open("open") as sandbox:
        await sandbox.execute("ln -s /proc/self/maps /workspace/maps")
        found = await sandbox.download([*paths, "/workspace/maps"])
    assert [isinstance(each, FileError) for each in found] == [True] * 3


@pytest.mark.parametrize(
    "trap",
    [
        "mkdir -p {site}/x.dist-info && mkfifo {site}/x.dist-info/METADATA",
        "mkdir -p ~/node_modules/x && mkfifo ~/node_modules/x/package.json",
        "mkdir -p ~/node_modules && ln -s . ~/node_modules/@a && ln -s . ~/node_modules/@b",
    ],
    ids=["a pipe for pip", "a pipe for npm", "links in a circle"],
)
async def test_packages_are_listed_whatever_lies_there(
    bubblewrap: ProviderUnderTest, trap: str
) -> None:
    site = "$(python3 -c 'import site; print(site.getusersitepackages())')"
    async with bubblewrap.open("open") as sandbox:
        laid = await sandbox.execute(trap.format(site=site))
        assert laid.exit_code == 0, laid.output
        async with asyncio.timeout(30):
            await sandbox.packages()
