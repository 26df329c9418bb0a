"""What a run tells: real sandboxes, the real agent graph, a model that is a policy."""

import json

import pytest

from assay_contracts.runs import RunKind
from assay_contracts.tasks import CommandCheck, FileCheck, PatternCheck
from assay_rehearsal.conversation import Reply, Turn
from assay_testkit.runner import (
    COUNTED,
    PROMPT,
    SCRIPT,
    SKILL,
    VALIDATION,
    Runner,
    a_run,
    a_task,
    finished,
)


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
    assert runner.mounts() == []


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
