"""Environments that runs keep: started from, kept for good, and deleted."""

from datetime import UTC, datetime, timedelta

import pytest

from assay_contracts.tasks import PatternCheck
from assay_contracts.validations import CleanupRequested, KeepFinished, KeepRequested
from assay_sandbox_runner.use_cases.clean_up import CleanUp
from assay_sandbox_runner.use_cases.keep_snapshots import KeepSnapshots
from assay_testkit.runner import (
    SCRIPT,
    SNAPSHOT_TTL,
    Runner,
    a_run,
    a_task,
    about_snapshots,
    finished,
)


async def test_offline_run_starts_from_what_the_online_run_installed(runner: Runner) -> None:
    keep = (
        f"{SCRIPT}\nhome = pathlib.Path.home()\n"
        "print(*sorted(path.name for path in home.iterdir()))\n"
        "home.joinpath('words.csv').write_text('x')\n"
        "home.joinpath('installed').write_text('x')\n"
    )
    skill = runner.store.add_skill(script=keep)
    inherited = a_task("t2", PatternCheck(pattern="(?m)^words.csv$"))

    online = finished(
        await runner.use_case()(
            a_run("online", skill, tasks=(a_task("t1"),), capture="candidate-1")
        )
    )
    offline = finished(
        await runner.use_case()(a_run("offline", skill, tasks=(inherited,), base=online.candidate))
    )

    assert online.candidate == "candidate-1"
    assert online.candidate_expires_at is not None
    until = online.candidate_expires_at - datetime.now(UTC)
    assert abs(until - SNAPSHOT_TTL) < timedelta(minutes=5)
    assert online.sealed is not None
    assert [file.path for file in online.sealed.files] == ["words.csv"]
    assert [file.path for file in online.sealed.left_behind] == ["installed"]
    assert offline.candidate_expires_at is None
    assert offline.sandbox is not None
    assert offline.sandbox.base == "candidate-1"
    assert offline.sandbox.environment == online.sealed.digest
    assert [check.passed for check in offline.outcomes[0].checks] == [True]


async def test_deleted_snapshot_is_gone(runner: Runner) -> None:
    skill = runner.store.add_skill()
    await runner.use_case()(a_run("online", skill, tasks=(a_task(),), capture="candidate-1"))

    cleaned = await CleanUp(environments=runner.environments)(
        about_snapshots(CleanupRequested, "candidate-1", "never-there")
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

    answer = await KeepSnapshots(environments=runner.environments)(
        about_snapshots(KeepRequested, snapshot)
    )

    assert isinstance(answer, KeepFinished)
    assert (answer.failure is None) == kept
    assert answer.gone != kept
