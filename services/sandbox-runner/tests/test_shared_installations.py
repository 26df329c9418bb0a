"""Installing packages for all tasks of a run: one at a time, and nothing twice."""

import asyncio

import pytest

from assay_agentkit.task_clock import running_on
from assay_sandbox_runner.adapters.shared_installations import SharedInstallations
from assay_sandboxes.port import ExecResult, SandboxUnavailable


def result_of(text: str, exit_code: int = 0) -> ExecResult:
    return ExecResult(text, "", exit_code, timed_out=False, truncated=False, seconds=0.0)


class Counting:
    """Stands for a sandbox that says how often it was asked, and how many asked at once."""

    def __init__(self, exit_code: int = 0) -> None:
        self.runs = 0
        self.at_once = 0
        self._now = 0
        self._exit_code = exit_code

    async def __call__(self) -> ExecResult:
        self.runs += 1
        self._now += 1
        self.at_once = max(self.at_once, self._now)
        await asyncio.sleep(0.01)
        self._now -= 1
        return result_of(f"run {self.runs}", self._exit_code)


async def asked_three_times(command: str, sandbox: Counting) -> list[str]:
    install = SharedInstallations()
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(install(command, sandbox)) for _ in range(3)]
    return [task.result().stdout for task in asked]


async def test_the_same_installation_is_done_once_for_all() -> None:
    sandbox = Counting()
    assert await asked_three_times("pip install tool", sandbox) == ["run 1"] * 3
    assert sandbox.runs == 1


async def test_installations_that_depend_on_the_folder_take_turns() -> None:
    sandbox = Counting()
    await asked_three_times("pip install -r requirements.txt", sandbox)
    assert (sandbox.runs, sandbox.at_once) == (3, 1)


async def test_a_failed_installation_is_tried_again_by_whoever_asks() -> None:
    sandbox = Counting(exit_code=1)
    await asked_three_times("pip install tool", sandbox)
    assert (sandbox.runs, sandbox.at_once) == (3, 1)


async def test_other_commands_do_not_wait() -> None:
    sandbox = Counting()
    await asked_three_times("python3 scripts/count.py notes.txt", sandbox)
    assert (sandbox.runs, sandbox.at_once) == (3, 3)


async def test_what_was_removed_is_installed_again() -> None:
    install, sandbox = SharedInstallations(), Counting()
    for command in ("pip install tool", "pip uninstall -y tool", "pip install tool"):
        await install(command, sandbox)
    assert sandbox.runs == 3


async def test_an_installation_that_was_cut_short_is_remembered_until_the_next_ends() -> None:
    install, seen = SharedInstallations(), []

    async def lost() -> ExecResult:
        raise SandboxUnavailable("gone")

    for command in ("python3 run.py", "pip install tool"):
        with pytest.raises(SandboxUnavailable):
            await install(command, lost)
        seen.append(install.interrupted)
    await install("pip install tool", Counting(exit_code=1))
    assert [*seen, install.interrupted] == [False, True, False]


async def test_waiting_for_a_turn_costs_a_task_none_of_its_time() -> None:
    install = SharedInstallations()
    first_is_in, first_may_end = asyncio.Event(), asyncio.Event()

    async def slow() -> ExecResult:
        first_is_in.set()
        await first_may_end.wait()
        return result_of("slow")

    async def second() -> str:
        async with asyncio.timeout(0.05) as clock:
            with running_on(clock):
                return (await install("pip install other", Counting())).stdout

    async with asyncio.TaskGroup() as group:
        group.create_task(install("pip install slow", slow))
        await first_is_in.wait()
        waiting = group.create_task(second())
        await asyncio.wait([waiting], timeout=0.2)  # four times what the second may take
        assert not waiting.done()
        first_may_end.set()
    assert waiting.result() == "run 1"
