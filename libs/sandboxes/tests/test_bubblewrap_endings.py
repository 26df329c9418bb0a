"""How bubblewrap sandboxes are proven, and what they leave behind when they end badly."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.conformance.under_test import ProviderUnderTest
from assay_sandboxes.network_probe import Probe
from assay_sandboxes.port import NotOffline, SandboxUnavailable
from assay_testkit.processes import children_of, open_descriptors, processes_with
from assay_testkit.waiting import until


def left_in(state: Path) -> list[str]:
    return sorted(path.name for path in (state / "sandboxes").iterdir())


async def test_the_proof_tells_what_the_probe_did_and_saw(bubblewrap: ProviderUnderTest) -> None:
    async with bubblewrap.open("blocked") as sandbox:
        blocked = sandbox.proof()
    assert "connect to 1.1.1.1 port 53: ENETUNREACH" in blocked.proof
    assert "look up example.com: not resolved" in blocked.proof
    assert "kernel" in blocked.observation
    async with bubblewrap.open("open") as sandbox:
        carried = sandbox.proof()
    assert "carries connections" in carried.proof
    assert "and not to this machine" in carried.proof
    assert "as they are carried" in carried.observation


@pytest.mark.parametrize(
    "probe",
    [
        # Somebody answers, if only to refuse.
        pytest.param(Probe(addresses=(("127.0.0.1", 9),), names=()), id="by address"),
        pytest.param(Probe(addresses=(), names=("localhost",)), id="by name"),
    ],
)
async def test_a_sandbox_that_gets_out_is_destroyed_unused(
    probe: Probe, tmp_path: Path, skills: Path
) -> None:
    provider = BubblewrapProvider(tmp_path / "state", probe=probe)
    with pytest.raises(NotOffline, match="a probe from inside saw"):
        async with provider.open(name="leaky", skills=skills, network="blocked"):
            pytest.fail("it was opened")
    assert left_in(tmp_path / "state") == []


async def test_a_sandbox_that_cannot_start_says_why_and_leaves_nothing(
    tmp_path: Path, skills: Path
) -> None:
    provider = BubblewrapProvider(tmp_path / "state")
    with pytest.raises(SandboxUnavailable, match="No such file"):
        async with provider.open(name="none", skills=skills / "none", network="blocked"):
            pytest.fail("it was opened")
    assert left_in(tmp_path / "state") == []


async def test_a_sandbox_ended_from_outside_is_lost_at_once(bubblewrap: ProviderUnderTest) -> None:
    async with bubblewrap.open() as sandbox:
        mark = f"{os.getpid()}0004"
        task = asyncio.create_task(sandbox.execute(f"sleep {mark} || true"))
        await until(lambda: processes_with(f"sleep\0{mark}"), why="the command runs")
        assert isinstance(bubblewrap.provider, BubblewrapProvider)
        launcher = bubblewrap.provider._launcher.pid
        assert launcher is not None
        (above_process_1,) = (pid for pid in children_of(launcher) if children_of(pid))
        os.kill(above_process_1, signal.SIGKILL)
        with pytest.raises(SandboxUnavailable):
            await task
        with pytest.raises(SandboxUnavailable):
            await sandbox.execute("true")


async def test_being_cancelled_at_any_moment_leaves_nothing(
    bubblewrap: ProviderUnderTest, tmp_path: Path
) -> None:
    mark = f"{os.getpid()}0005"

    async def use() -> None:
        async with bubblewrap.open() as sandbox:
            await sandbox.execute(f"sleep {mark} & sleep {mark}")

    async with bubblewrap.open():
        pass  # what all sandboxes share is open from here on
    held = open_descriptors()
    for step in range(24):
        task = asyncio.create_task(use())
        await asyncio.wait([task], timeout=step * 0.008)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert processes_with(f"sleep\0{mark}") == []
    assert left_in(tmp_path / "state") == []
    assert open_descriptors() == held


async def test_sandboxes_side_by_side_leave_nothing_open_in_the_launcher(
    bubblewrap: ProviderUnderTest,
) -> None:
    async def use() -> None:
        async with bubblewrap.open():
            pass

    await use()
    assert isinstance(bubblewrap.provider, BubblewrapProvider)
    launcher = bubblewrap.provider._launcher.pid
    held = open_descriptors(launcher)
    for _ in range(3):
        await asyncio.gather(*(use() for _ in range(4)))
    await until(lambda: open_descriptors(launcher) == held, why="it has let go of them")


HOLDER = """
import asyncio, sys
from pathlib import Path
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider

async def main(state, skills, mark):
    provider = BubblewrapProvider(Path(state))
    async with provider.open(name="held", skills=Path(skills), network="blocked") as sandbox:
        await sandbox.execute(f"setsid sleep {mark} &")
        print(sandbox.id, flush=True)
        await sandbox.execute(f"sleep {mark}")

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_killed_runner_takes_its_sandboxes_along_and_a_sweep_tidies_up(
    bubblewrap: ProviderUnderTest, tmp_path: Path
) -> None:
    mark, state = f"{os.getpid()}0006", tmp_path / "state"
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDER, str(state), str(bubblewrap.skills), mark),
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    identity = (await holder.stdout.readline()).decode().strip()
    await until(lambda: len(processes_with(f"sleep\0{mark}")) == 2, why="all of them run")
    assert await bubblewrap.provider.sweep() == []
    holder.kill()
    await holder.wait()
    await until(lambda: not processes_with(f"sleep\0{mark}"), why="all of them ended")
    assert left_in(state) == [identity]
    assert await bubblewrap.provider.sweep() == [identity]
    assert left_in(state) == []
    assert await bubblewrap.provider.sweep() == []
