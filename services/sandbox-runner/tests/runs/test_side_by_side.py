"""Tasks of one run side by side: faster, and no less true."""

import time
from itertools import pairwise

from assay_contracts.tasks import FileCheck
from assay_rehearsal.conversation import Reply, ToolUse, Turn
from assay_testkit.runner import SCRIPT, Runner, a_run, a_task, finished

THREE = tuple(a_task(f"t{n}", FileCheck(path="report.txt")) for n in (1, 2, 3))


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
