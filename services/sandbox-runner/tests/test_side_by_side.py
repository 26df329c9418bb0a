"""Tasks of one run side by side: faster, and no less true."""

import asyncio
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata

from assay_contracts.base import Result
from assay_contracts.runs import RunFinished
from assay_contracts.tasks import FileCheck
from assay_rehearsal.conversation import Reply, ToolUse, Turn
from assay_rehearsal.model import RehearsalModel
from assay_sandbox_runner.adapters.bubblewrap import BubblewrapProvider
from assay_sandbox_runner.adapters.executor import DeepAgentExecutors
from assay_sandbox_runner.installing import Installations
from assay_sandbox_runner.ports import ExecResult, SandboxUnavailable
from assay_testkit.runner import SCRIPT, Runner, a_run, a_task

THREE = tuple(a_task(f"t{n}", FileCheck(path="report.txt")) for n in (1, 2, 3))


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(BubblewrapProvider(tmp_path / "sandboxes"), tmp_path / "runner")


def finished(result: Result) -> RunFinished:
    assert isinstance(result, RunFinished)
    assert result.failure is None
    return result


def running(command: str) -> Reply:
    return Reply(calls=(ToolUse("execute", {"command": command}),))


def overlaps(runner: Runner) -> bool:
    """Whether the last steps of two tasks were under way at the same time."""
    last = sorted(
        (trace.steps[-1].at, trace.steps[-1].seconds) for trace in runner.store.traces.values()
    )
    return any(
        (later - earlier).total_seconds() < took for (earlier, took), (later, _) in pairwise(last)
    )


async def test_tasks_wait_for_their_commands_at_the_same_time(runner: Runner) -> None:
    skill = runner.store.add_skill(script=f"{SCRIPT}\nimport time; time.sleep(1.5)\n")

    result = finished(await runner.use_case()(a_run("offline", skill, tasks=THREE)))

    assert [outcome.task_id for outcome in result.outcomes] == ["t1", "t2", "t3"]
    assert all(check.passed for outcome in result.outcomes for check in outcome.checks)
    assert overlaps(runner)
    assert result.timings is not None
    # Each slept 1.5 s: time in which several did counts once, and never beyond the wall.
    assert 1.5 <= result.timings.commands < 4.5
    assert result.timings.commands + result.timings.model <= result.timings.wall


async def test_a_skill_that_uses_a_place_all_tasks_share_gets_them_one_after_another(
    runner: Runner,
) -> None:
    shared = "pathlib.Path('/tmp/note').write_text(text); import time; time.sleep(0.2)"
    skill = runner.store.add_skill(script=f"{SCRIPT}\n{shared}\n")

    finished(await runner.use_case()(a_run("offline", skill, tasks=THREE)))

    assert not overlaps(runner)
    assert runner.store.progressed[0].detail == "3 tasks, one after another"


async def test_calls_of_tasks_that_run_the_same_command_are_told_apart(runner: Runner) -> None:
    skill = runner.store.add_skill()

    def calls_out(turn: Turn) -> Reply:
        if turn.number:
            return Reply("Done.")
        host = next(word for word in turn.request.split() if word.endswith(".example"))
        fetch = f"urllib.request.urlopen('http://{host}', timeout=3)"
        return running(f'sleep 0.3; python3 -c "import urllib.request; {fetch}"')

    tasks = tuple(
        a_task(f"t{n}", prompt=f"Fetch host{n % 2}.example please.", files=()) for n in (1, 2, 3)
    )

    result = finished(await runner.use_case(calls_out)(a_run("offline", skill, tasks=tasks)))

    assert sorted((c.task_id, c.destination) for c in result.network_calls) == [
        ("t1", "host1.example"),
        ("t2", "host0.example"),
        ("t3", "host1.example"),
    ]
    assert overlaps(runner)


async def test_a_failing_task_stops_the_others(runner: Runner) -> None:
    skill = runner.store.add_skill()

    def fails_on_the_second(turn: Turn) -> Reply:
        if "horse" in turn.request:
            raise ConnectionError("529 overloaded")
        return running("sleep 30")

    tasks = (a_task("t1"), a_task("t2", prompt="Paint a horse."), a_task("t3"))
    began = time.perf_counter()

    result = await runner.use_case(fails_on_the_second)(a_run("offline", skill, tasks=tasks))

    assert result.failure is not None
    assert result.failure.category == "model"
    assert time.perf_counter() - began < 20
    assert not runner.store.traces


class Chatty(RehearsalModel):
    """A model whose every answer costs 600 tokens."""

    def _generate(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]
        result = super()._generate(*args, **kwargs)  # type: ignore[arg-type]
        message = result.generations[0].message
        assert isinstance(message, AIMessage)
        message.usage_metadata = UsageMetadata(
            input_tokens=500, output_tokens=100, total_tokens=600
        )
        return result


async def test_each_task_stops_at_its_share_of_the_tokens_and_says_so(runner: Runner) -> None:
    skill = runner.store.add_skill()

    def restless_on_the_first(turn: Turn) -> Reply:
        if "horse" not in turn.request:
            return Reply("Done.")
        return running(f"echo {turn.number}")

    model = Chatty(policy=restless_on_the_first)
    run = replace(
        runner.use_case(), executors=DeepAgentExecutors(model=model, label="m", model_calls=25)
    )
    request = a_run(
        "offline", skill, tasks=(a_task("t1", prompt="Paint a horse."), a_task("t2"))
    ).model_copy(update={"token_budget": 3600})

    result = finished(await run(request))

    greedy, modest = result.outcomes
    assert greedy.bounds_hit == ("tokens",)
    assert greedy.commands == 3
    assert greedy.answer == ""
    assert runner.store.traces[greedy.trace_key].bounds_hit == ("tokens",)
    assert modest.bounds_hit == ()
    assert modest.answer == "Done."
    assert result.model is not None
    assert result.model.tokens == 4 * 600


# -- the installation step ------------------------------------------------------------------------


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
    install = Installations()
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
    install, sandbox = Installations(), Counting()
    for command in ("pip install tool", "pip uninstall -y tool", "pip install tool"):
        await install(command, sandbox)
    assert sandbox.runs == 3


async def test_an_installation_that_was_cut_short_is_remembered_until_the_next_ends() -> None:
    install, seen = Installations(), []

    async def lost() -> ExecResult:
        raise SandboxUnavailable("gone")

    for command in ("python3 run.py", "pip install tool"):
        with pytest.raises(SandboxUnavailable):
            await install(command, lost)
        seen.append(install.interrupted)
    await install("pip install tool", Counting(exit_code=1))
    assert [*seen, install.interrupted] == [False, True, False]
