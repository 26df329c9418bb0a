"""Runs from request to result: real sandboxes, the real agent graph, a model that is a policy."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from assay_agentkit.rehearsal import Reply, ToolUse, Turn
from assay_contracts.base import Result
from assay_contracts.runs import ModelUse, RunFinished, RunKind
from assay_contracts.tasks import CommandCheck, FileCheck, PatternCheck
from assay_contracts.validations import CleanupRequested, KeepFinished, KeepRequested
from assay_sandbox_runner.adapters.bubblewrap import BubblewrapProvider
from assay_sandbox_runner.adapters.executor import SkillNotDisclosed
from assay_sandbox_runner.adapters.fake import FakeProvider
from assay_sandbox_runner.domain.attempt import Attempt
from assay_sandbox_runner.ports import ExecResult, Sandbox, SandboxProvider, SandboxUnavailable
from assay_sandbox_runner.service import CleanUp, Keep
from assay_testkit.runner import (
    MANUAL,
    NOTES,
    PROMPT,
    SCRIPT,
    SKILL,
    VALIDATION,
    Runner,
    a_run,
    a_task,
)

COUNTED = (
    FileCheck(path="report.txt"),
    PatternCheck(pattern=r"^words: 5$", path="report.txt"),
    PatternCheck(pattern="lines: 2"),
    CommandCheck(command="grep -q words report.txt"),
)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(BubblewrapProvider(tmp_path / "sandboxes"), tmp_path / "runner")


def finished(result: Result) -> RunFinished:
    assert isinstance(result, RunFinished)
    assert result.failure is None
    return result


def mounts(runner: Runner) -> list[Path]:
    return list((runner.folder / "mounts").glob("*"))


@pytest.mark.parametrize("kind", ["online", "offline"])
async def test_documented_skill_does_its_tasks(runner: Runner, kind: RunKind) -> None:
    skill = runner.store.add_skill()
    tasks = (a_task("t1", *COUNTED), a_task("t2", *COUNTED))

    result = finished(await runner.use_case()(a_run(kind, skill, tasks=tasks)))

    assert [outcome.task_id for outcome in result.outcomes] == ["t1", "t2"]
    for outcome in result.outcomes:
        assert all(check.passed for check in outcome.checks), outcome.checks
        assert [(use.skill, use.kind) for use in outcome.skills_used] == [
            ("word-counter", "read"),
            ("word-counter", "run"),
        ]
        assert outcome.bounds_hit == ()
        assert outcome.commands == 1
    assert result.sandbox is not None
    assert result.sandbox.network == ("open" if kind == "online" else "blocked")
    assert result.network_calls == ()
    assert mounts(runner) == []


async def test_trace_holds_what_was_done(runner: Runner) -> None:
    skill = runner.store.add_skill()

    result = finished(
        await runner.use_case()(a_run("offline", skill, tasks=(a_task("t1", *COUNTED),)))
    )

    (outcome,) = result.outcomes
    assert outcome.trace_key == f"{VALIDATION}.offline/1/t1.json"
    trace = runner.store.traces[outcome.trace_key]
    assert trace.prompt == PROMPT
    assert [step.tool for step in trace.steps] == ["read_file", "glob", "execute"]
    command = trace.steps[2]
    assert json.loads(command.arguments) == {
        "command": "python3 /workspace/skills/word-counter/scripts/count.py"
        " notes.txt --output report.txt"
    }
    assert (command.output, command.exit_code, command.failed) == ("words: 5\nlines: 2\n", 0, False)
    assert trace.files_made == ("report.txt",)
    assert trace.checks == outcome.checks
    assert "words: 5" in trace.answer


async def test_time_is_split_into_model_commands_and_rest(runner: Runner) -> None:
    skill = runner.store.add_skill(script=f"{SCRIPT}\nimport time; time.sleep(0.5)\n")

    result = finished(await runner.use_case()(a_run("offline", skill, tasks=(a_task(),))))

    assert result.timings is not None
    assert result.model is not None
    assert result.timings.commands >= 0.5
    assert result.timings.model == result.model.seconds > 0
    assert result.timings.wall > result.timings.commands + result.timings.model
    assert result.model.role == "executor"
    assert result.model.model == "rehearsal:1"
    assert result.model.prompt_version == "executor-2"
    assert result.model.calls == 3


async def test_same_request_leaves_the_same_trace(runner: Runner) -> None:
    skill = runner.store.add_skill()
    traces = []
    for _ in range(2):
        await runner.use_case()(a_run("offline", skill, tasks=(a_task("t1", *COUNTED),)))
        (trace,) = runner.store.traces.values()
        traces.append(
            trace.model_dump(exclude={"steps": {"__all__": {"at", "seconds"}}}),
        )

    assert traces[0] == traces[1]


async def test_progress_is_said_task_by_task(runner: Runner) -> None:
    skill = runner.store.add_skill()
    tasks = (a_task("t1"), a_task("t2"))

    await runner.use_case()(a_run("offline", skill, tasks=tasks))

    assert [(p.step, p.detail, p.tasks_done) for p in runner.store.progressed] == [
        ("offline_run", "2 tasks, side by side", 0),
        ("offline_run", "1 of 2 tasks done", 1),
        ("offline_run", "2 of 2 tasks done", 2),
    ]
    assert {(p.validation_id, p.skill_id, p.tasks_total) for p in runner.store.progressed} == {
        (VALIDATION, SKILL, 2)
    }


async def test_broken_script_fails_its_checks_and_shows_why(runner: Runner) -> None:
    skill = runner.store.add_skill(script="#!/usr/bin/env python3\nprint(undefined_name)\n")

    result = finished(
        await runner.use_case()(a_run("online", skill, tasks=(a_task("t1", *COUNTED),)))
    )

    (outcome,) = result.outcomes
    assert not any(check.passed for check in outcome.checks)
    assert outcome.checks[0].detail == "report.txt is not there"
    assert ("word-counter", "run") in [(use.skill, use.kind) for use in outcome.skills_used]
    assert "NameError" in outcome.answer
    step = runner.store.traces[outcome.trace_key].steps[-1]
    assert step.exit_code == 1
    assert "NameError: name 'undefined_name' is not defined" in step.output


async def test_network_calls_of_an_offline_run_are_counted(runner: Runner) -> None:
    call = (
        "import urllib.request\n"
        "try: urllib.request.urlopen('http://weather.example/', timeout=3)\n"
        "except OSError as error: print(error)\n"
    )
    skill = runner.store.add_skill(script=SCRIPT + call + call)
    quiet = a_task("t1", prompt="Paint a picture of a horse.")

    result = finished(
        await runner.use_case()(a_run("offline", skill, tasks=(quiet, a_task("t2", *COUNTED))))
    )

    assert [(c.task_id, c.destination) for c in result.network_calls] == [
        ("t2", "weather.example"),
        ("t2", "weather.example"),
    ]
    assert all("count.py" in call.command for call in result.network_calls)
    assert all(check.passed for check in result.outcomes[1].checks)


async def test_task_that_no_skill_fits_is_owned_up_to(runner: Runner) -> None:
    skill = runner.store.add_skill()
    task = a_task("t1", FileCheck(path="horse.png"), prompt="Paint a picture of a horse.")

    result = finished(await runner.use_case()(a_run("offline", skill, tasks=(task,))))

    (outcome,) = result.outcomes
    assert outcome.skills_used == ()
    assert not outcome.checks[0].passed
    assert outcome.answer.startswith("Could not do it")


async def test_claimed_success_counts_for_nothing(runner: Runner) -> None:
    skill = runner.store.add_skill()

    def liar(_: Turn) -> Reply:
        return Reply(
            "I read /workspace/skills/word-counter/SKILL.md, ran its script and wrote report.txt."
        )

    result = finished(
        await runner.use_case(liar)(a_run("online", skill, tasks=(a_task("t1", *COUNTED),)))
    )

    (outcome,) = result.outcomes
    assert outcome.skills_used == ()
    assert outcome.commands == 0
    assert not any(check.passed for check in outcome.checks)
    assert "wrote report.txt" in outcome.answer


async def test_model_that_never_stops_hits_the_bound_on_steps(runner: Runner) -> None:
    skill = runner.store.add_skill()

    def restless(turn: Turn) -> Reply:
        return Reply(calls=(ToolUse("execute", {"command": f"echo {turn.number}"}),))

    result = finished(
        await runner.use_case(restless, model_calls=4)(a_run("offline", skill, tasks=(a_task(),)))
    )

    (outcome,) = result.outcomes
    assert outcome.bounds_hit == ("steps",)
    assert outcome.commands == 4
    assert outcome.answer == ""


async def test_hanging_task_hits_the_bound_on_time_and_the_next_goes_on(runner: Runner) -> None:
    hang = f"{SCRIPT}\nif 'six' in text: import time; time.sleep(600)\n"
    skill = runner.store.add_skill(script=hang)
    six = NOTES.model_copy(update={"content": "six"})

    result = finished(
        await runner.use_case(task_seconds=6)(
            a_run("offline", skill, tasks=(a_task("t1", files=(six,)), a_task("t2", *COUNTED)))
        )
    )

    hung, done = result.outcomes
    assert hung.bounds_hit == ("time",)
    last = runner.store.traces[hung.trace_key].steps[-1]
    assert (last.tool, last.failed, last.exit_code) == ("execute", True, None)
    assert done.bounds_hit == ()
    assert all(check.passed for check in done.checks)


async def test_flood_of_output_is_cut_and_named(runner: Runner) -> None:
    skill = runner.store.add_skill(script=f"{SCRIPT}\nprint('x' * 2_000_000)\n")

    result = finished(await runner.use_case()(a_run("offline", skill, tasks=(a_task(),))))

    (outcome,) = result.outcomes
    assert outcome.bounds_hit == ("output",)
    step = runner.store.traces[outcome.trace_key].steps[-1]
    assert step.truncated
    assert step.exit_code == 0
    assert step.output.startswith("words: 5")
    assert len(step.output) <= 30_000


async def test_offline_run_starts_from_what_the_online_run_installed(runner: Runner) -> None:
    keep = f"{SCRIPT}\npathlib.Path.home().joinpath('installed').write_text('x')\n"
    skill = runner.store.add_skill(script=keep)
    inherited = a_task(
        "t2",
        CommandCheck(command="test -s ~/installed"),
        CommandCheck(command="test ! -e ../t1"),
        prompt="Paint a picture of a horse.",
    )

    online = finished(
        await runner.use_case()(
            a_run("online", skill, tasks=(a_task("t1"),), capture="candidate-1")
        )
    )
    offline = finished(
        await runner.use_case()(a_run("offline", skill, tasks=(inherited,), base=online.candidate))
    )

    assert online.candidate == "candidate-1"
    assert offline.sandbox is not None
    assert offline.sandbox.base == "candidate-1"
    assert [check.passed for check in offline.outcomes[0].checks] == [True, True]


async def test_deleted_snapshot_is_gone(runner: Runner) -> None:
    skill = runner.store.add_skill()
    await runner.use_case()(a_run("online", skill, tasks=(a_task(),), capture="candidate-1"))

    cleaned = await CleanUp(provider=runner.provider)(
        CleanupRequested(
            validation_id=VALIDATION,
            step_id=f"{VALIDATION}.cleanup",
            attempt=1,
            skill_id=SKILL,
            skill_name=skill.name,
            snapshots=("candidate-1", "never-there"),
        )
    )
    late = await runner.use_case()(a_run("offline", skill, tasks=(a_task(),), base="candidate-1"))

    assert cleaned.failure is None
    assert late.failure is not None
    assert late.failure.category == "sandbox"


@pytest.mark.parametrize(("snapshot", "kept"), [("candidate-1", True), ("never-there", False)])
async def test_a_snapshot_is_kept_or_said_to_be_missing(
    runner: Runner, snapshot: str, kept: bool
) -> None:
    skill = runner.store.add_skill()
    await runner.use_case()(a_run("online", skill, tasks=(a_task(),), capture="candidate-1"))

    answer = await Keep(provider=runner.provider)(
        KeepRequested(
            validation_id=VALIDATION,
            step_id=f"{VALIDATION}.keep",
            attempt=1,
            skill_id=SKILL,
            skill_name=skill.name,
            snapshots=(snapshot,),
        )
    )

    assert isinstance(answer, KeepFinished)
    assert (answer.failure is None) == kept
    assert answer.gone != kept


async def test_checks_tell_whether_they_passed_before_the_work(runner: Runner) -> None:
    skill = runner.store.add_skill()
    checks = (FileCheck(path="report.txt"), FileCheck(path="notes.txt"))

    online = finished(
        await runner.use_case()(a_run("online", skill, tasks=(a_task("t1", *checks),)))
    )

    (outcome,) = online.outcomes
    assert [(c.passed, c.passed_before) for c in outcome.checks] == [(True, False), (True, True)]
    assert runner.store.traces[outcome.trace_key].files_made == ("report.txt",)


async def test_plan_whose_checks_show_nothing_is_not_carried_out(runner: Runner) -> None:
    skill = runner.store.add_skill()
    checks = (CommandCheck(command="true"), PatternCheck(pattern=".*"))

    result = await runner.use_case()(a_run("online", skill, tasks=(a_task("t1", *checks),)))

    assert result.failure is not None
    assert result.failure.category == "model"
    assert "every check of t1 passes before any work" in result.failure.reason
    assert runner.store.traces == {}


# -- failures of the platform ----------------------------------------------------------------------


async def test_sandbox_that_cannot_be_had_is_a_failure_of_ours(tmp_path: Path) -> None:
    runner = Runner(FakeProvider(unavailable="User namespaces are switched off."), tmp_path)
    skill = runner.store.add_skill()

    result = await runner.use_case()(a_run("online", skill, tasks=(a_task(),)))

    assert isinstance(result, RunFinished)
    assert result.failure is not None
    assert result.failure.category == "sandbox"
    assert result.failure.reason == "User namespaces are switched off."
    assert result.outcomes == ()
    assert mounts(runner) == []


async def test_leaking_sandbox_is_a_failure_of_ours(tmp_path: Path) -> None:
    runner = Runner(FakeProvider(leaks=True), tmp_path)
    skill = runner.store.add_skill()

    kinds: tuple[RunKind, ...] = ("offline", "regression")
    for kind in kinds:
        result = await runner.use_case()(a_run(kind, skill, tasks=(a_task(),)))

        assert result.failure is not None
        assert result.failure.category == "sandbox"


async def test_run_that_overruns_is_a_failure_of_ours(tmp_path: Path) -> None:
    provider = FakeProvider()
    runner = Runner(provider, tmp_path)
    skill = runner.store.add_skill()

    class Never:
        async def __call__(self, *_: object, **__: object) -> Attempt:
            await asyncio.Event().wait()
            raise AssertionError

        def use(self) -> ModelUse:
            return ModelUse(role="executor", model="x:y", prompt_version="1", calls=0, seconds=0)

        def was_installing(self) -> bool:
            return True

    run = replace(runner.use_case(), executors=lambda _: Never())
    result = await run(a_run("online", skill, tasks=(a_task(),), time_limit_s=0.2))

    assert result.failure is not None
    assert result.failure.category == "timeout"
    assert result.failure.reason == "The run was not done after 0.2 s."
    assert result.failure.while_installing
    assert mounts(runner) == []
    assert not any(sandbox.is_open for sandbox in provider.sandboxes)


async def test_hanging_tasks_end_before_the_run_does(runner: Runner) -> None:
    skill = runner.store.add_skill(script="#!/usr/bin/env python3\nimport time; time.sleep(600)\n")
    tasks = (a_task("t1"), a_task("t2"))

    result = finished(await runner.use_case()(a_run("offline", skill, tasks=tasks, time_limit_s=5)))

    assert [outcome.bounds_hit for outcome in result.outcomes] == [("time",), ("time",)]


async def test_failing_model_is_a_failure_of_ours(runner: Runner) -> None:
    skill = runner.store.add_skill()

    def down(_: Turn) -> Reply:
        raise ConnectionError("529 overloaded")

    result = await runner.use_case(down)(a_run("offline", skill, tasks=(a_task(),)))

    assert result.failure is not None
    assert result.failure.category == "model"
    assert "529 overloaded" in result.failure.reason


class Losing:
    """A provider whose sandboxes are gone once a command holds the marker."""

    def __init__(self, provider: SandboxProvider, marker: str) -> None:
        self._provider = provider
        self._marker = marker

    def __getattr__(self, name: str) -> object:
        return getattr(self._provider, name)

    @asynccontextmanager
    async def open(self, **options: Any) -> AsyncIterator[object]:
        async with self._provider.open(**options) as sandbox:
            yield LosingSandbox(sandbox, self._marker)


class LosingSandbox:
    def __init__(self, sandbox: Sandbox, marker: str) -> None:
        self._sandbox = sandbox
        self._marker = marker

    def __getattr__(self, name: str) -> object:
        return getattr(self._sandbox, name)

    async def execute(self, command: str, **options: Any) -> ExecResult:
        if self._marker in command:
            raise SandboxUnavailable("The sandbox's host is gone.")
        return await self._sandbox.execute(command, **options)


@pytest.mark.parametrize("marker", ["count.py", "fnmatch"], ids=["in a command", "in a file tool"])
async def test_sandbox_lost_on_the_way_is_a_failure_of_ours(runner: Runner, marker: str) -> None:
    skill = runner.store.add_skill()
    provider = cast("SandboxProvider", Losing(runner.provider, marker))

    result = await replace(runner, provider=provider).use_case()(
        a_run("offline", skill, tasks=(a_task(),))
    )

    assert result.failure is not None
    assert result.failure.category == "sandbox"
    assert result.failure.reason == "The sandbox's host is gone."


async def test_missing_bundle_is_a_failure_of_ours(runner: Runner) -> None:
    skill = runner.store.add_skill()
    runner.store.objects.clear()

    result = await runner.use_case()(a_run("offline", skill, tasks=(a_task(),)))

    assert result.failure is not None
    assert result.failure.category == "bus"
    assert "is not in the object store" in result.failure.reason


async def test_changed_bundle_is_never_run(runner: Runner) -> None:
    skill = runner.store.add_skill()
    runner.store.objects[skill.bundle.key] += b"x"

    result = await runner.use_case()(a_run("offline", skill, tasks=(a_task(),)))

    assert result.failure is not None
    assert result.failure.category == "bus"
    assert "has sha256" in result.failure.reason


async def test_trace_that_cannot_be_kept_is_a_failure_of_ours(runner: Runner) -> None:
    skill = runner.store.add_skill()
    runner.store.refuses_traces = True

    result = await runner.use_case()(a_run("offline", skill, tasks=(a_task(),)))

    assert result.failure is not None
    assert result.failure.category == "bus"
    assert "the store is full" in result.failure.reason


async def test_skill_that_shadows_another_is_noticed(runner: Runner) -> None:
    skill = runner.store.add_skill()
    shadow = runner.store.add_skill("zz-shadow", MANUAL.replace("Counts", "Hides"))

    with pytest.raises(SkillNotDisclosed, match=r"was not told of (word-counter|zz-shadow)"):
        await runner.use_case()(a_run("offline", skill, shadow, tasks=(a_task(),)))
