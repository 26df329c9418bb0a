"""What a sandbox does to its network is done to its warden, and to nobody else."""

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.bubblewrap.host.sandbox import BubblewrapSandbox
from assay_sandboxes.conformance.under_test import LIMITS, python
from assay_sandboxes.port import Sandbox, SandboxUnavailable
from assay_testkit.outside import FOUR, an_outside


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[BubblewrapProvider]:
    with an_outside() as outside:
        provider = BubblewrapProvider(tmp_path / "state", outside=outside)
        yield provider
        await provider.close()


async def printed(sandbox: Sandbox, program: str) -> str:
    result = await sandbox.execute(python(program))
    assert result.exit_code == 0, result.output
    return result.stdout


MANY_SOCKETS = """
import os, socket, time
for _ in range(9):
    if os.fork() == 0:
        held = []
        for _ in range(1000):
            held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            held[-1].bind(("127.0.0.1", 0))
        os.mkdir(f"/tmp/holding-{os.getpid()}"); time.sleep(60)
while len(os.listdir("/tmp")) < 9: time.sleep(0.01)
for number in range(20):
    try: socket.gethostbyname(f"n{number}.other.example")
    except OSError: pass
"""
SLOW_TO_CONNECT = """
import fcntl, socket, struct, threading
caller = socket.socket()
key = struct.pack("<H2s4s", 2, bytes(2), bytes([127, 0, 0, 1])) + bytes(120)
caller.setsockopt(6, 14, key + struct.pack("<BBHI", 0, 0, 4, 0) + b"seal" + bytes(76))
def block():
    while True: fcntl.fcntl(caller.fileno(), fcntl.F_SETFL, 0)
threading.Thread(target=block, daemon=True).start()
try: caller.connect((HOST, 80)); print("connected")
except OSError as error: print(error.strerror)
"""
NEVER_ARRIVING = """
import socket
reached = 0
for _ in range(600):
    caller = socket.socket()
    caller.setsockopt(6, 30, 1), caller.setsockopt(6, 34, 1)
    try: caller.connect((HOST, 80)); reached += 1
    except BlockingIOError: pass
    caller.close()
print(reached)
"""


async def longest_stand_still(until: asyncio.Task[str]) -> float:
    """Seconds for which this event loop did nothing else."""
    worst = 0.0
    while not until.done():
        began = time.monotonic()
        await asyncio.sleep(0.01)
        worst = max(worst, time.monotonic() - began)
    return worst


@pytest.mark.parametrize(
    ("attack", "came_of_it"),
    [
        pytest.param(MANY_SOCKETS, "", id="many sockets and look-ups"),
        pytest.param(SLOW_TO_CONNECT, "Connection timed out\n", id="a socket that never connects"),
        pytest.param(NEVER_ARRIVING, "256\n", id="sockets that never arrive"),
    ],
)
async def test_nobody_else_is_held_up_by_what_a_sandbox_does_to_its_network(
    provider: BubblewrapProvider, skills: Path, attack: str, came_of_it: str
) -> None:
    roomy = replace(LIMITS, processes=64)
    async with (
        provider.open(name="one", skills=skills, network="open", limits=roomy) as hostile,
        provider.open(name="two", skills=skills, network="open", limits=LIMITS) as honest,
    ):
        await printed(honest, f"import socket; socket.create_connection(('{FOUR}', 80), 5)")
        descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        attacking = asyncio.create_task(printed(hostile, f"HOST = '{FOUR}'\n{attack}"))
        watching = asyncio.create_task(longest_stand_still(attacking))
        await printed(honest, f"import socket; socket.create_connection(('{FOUR}', 80), 5)")
        assert await attacking == came_of_it
        assert await watching < 2.0
        # The test's own server has its ends of those that were carried.
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 256 + 8  # noqa: PTH208
        assert await hostile.network_calls()


async def test_a_sandbox_whose_warden_ends_is_lost_and_its_calls_are_not_taken_for_none(
    provider: BubblewrapProvider, skills: Path
) -> None:
    async with provider.open(name="one", skills=skills, network="blocked") as sandbox:
        assert isinstance(sandbox, BubblewrapSandbox)
        launched = sandbox._processes._launched_processes
        assert launched is not None
        launched.warden.kill()
        await launched.warden.wait()
        with pytest.raises(SandboxUnavailable, match="warden"):
            await sandbox.network_calls()
        with pytest.raises(SandboxUnavailable, match="warden"):
            await sandbox.execute("true")


async def test_a_warden_has_limits_of_its_own_and_no_rights_of_root(
    provider: BubblewrapProvider, skills: Path
) -> None:
    async with provider.open(name="one", skills=skills, network="open") as sandbox:
        assert isinstance(sandbox, BubblewrapSandbox)
        check_limits(sandbox)


def check_limits(sandbox: BubblewrapSandbox) -> None:
    launched = sandbox._processes._launched_processes
    assert launched is not None
    folder = Path("/proc", str(launched.warden.pid))
    status = dict(
        line.split(":\t", 1)
        for line in (folder / "status").read_text().splitlines()
        if ":\t" in line
    )
    assert "0" not in status["Uid"].split()
    assert int(status["CapEff"], 16) == 0
    limits = (folder / "limits").read_text()
    assert re.search(r"Max open files +1024 +1024", limits)
    assert re.search(rf"Max data size +{256 * 1024**2} ", limits)
    assert re.search(r"Max cpu time +\d+ ", limits)
