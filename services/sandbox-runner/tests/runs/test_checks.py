"""Checks are code's own opinion: on commands, files and patterns, none of which can be trusted."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from assay_contracts.tasks import Check, CheckResult, CommandCheck, FileCheck, PatternCheck
from assay_sandbox_runner.adapters.patterns import find_pattern
from assay_sandbox_runner.domain.timing import Stopwatch
from assay_sandbox_runner.domain.work_done import WorkDone
from assay_sandbox_runner.ports import PatternProblem
from assay_sandbox_runner.use_cases.check_task import CheckTask
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.port import Sandbox

# One sandbox for all checks, which lives in one event loop with them.
pytestmark = pytest.mark.asyncio(loop_scope="module")

FOLDER = "/workspace/tasks/t1"
WORK = WorkDone(
    steps=(),
    answer="The mean is 4.5.",
    bounds_hit=(),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox(provider: BubblewrapProvider, skills: Path) -> AsyncIterator[Sandbox]:
    async with provider.open(name="test", skills=skills, network="blocked") as sandbox:
        await sandbox.upload(
            [(f"{FOLDER}/out.json", b'{"rows": 3}\n'), (f"{FOLDER}/empty.txt", b"")],
        )
        yield sandbox


async def check(sandbox: Sandbox, wanted: Check) -> CheckResult:
    run = CheckTask(find_pattern=find_pattern, command_seconds=1.0)
    (result,) = await run([wanted], WORK, sandbox=sandbox, folder=FOLDER, stopwatch=Stopwatch())
    assert result.check == wanted
    return result


PASSING: dict[str, tuple[Check, str]] = {
    "command": (CommandCheck(command="grep rows out.json"), 'exit code 0\n{"rows": 3}'),
    "command that must fail": (CommandCheck(command="exit 3", exit_code=3), "exit code 3"),
    "file": (FileCheck(path="out.json"), "out.json is there and is not empty"),
    "pattern in a file": (
        PatternCheck(pattern=r'"rows": \d', path="out.json"),
        'found in out.json: "rows": 3',
    ),
    "pattern in the answer": (
        PatternCheck(pattern="mean is 4"),
        "found in the agent's output: mean is 4",
    ),
}
FAILING: dict[str, tuple[Check, str]] = {
    "command": (CommandCheck(command="echo no; exit 1"), "exit code 1\nno"),
    "command that hangs": (CommandCheck(command="sleep 60"), "killed: it had not ended"),
    "missing file": (FileCheck(path="nope.txt"), "nope.txt is not there"),
    "empty file": (FileCheck(path="empty.txt"), "empty.txt is empty"),
    "folder": (FileCheck(path="."), ". is not a file"),
    "name that is shell": (FileCheck(path="$(touch made) x"), "$(touch made) x is not there"),
    "pattern in a missing file": (PatternCheck(pattern="x", path="no"), "no: file_not_found"),
    "pattern not there": (PatternCheck(pattern="median"), "not in the agent's output"),
    "pattern that is none": (PatternCheck(pattern="("), "the pattern is not valid"),
}


@pytest.mark.parametrize(("wanted", "detail"), PASSING.values(), ids=PASSING.keys())
async def test_passes(sandbox: Sandbox, wanted: Check, detail: str) -> None:
    result = await check(sandbox, wanted)

    assert result.passed
    assert result.detail.startswith(detail)


@pytest.mark.parametrize(("wanted", "detail"), FAILING.values(), ids=FAILING.keys())
async def test_fails_with_why(sandbox: Sandbox, wanted: Check, detail: str) -> None:
    result = await check(sandbox, wanted)

    assert not result.passed
    assert result.detail.startswith(detail)


async def test_long_output_fits_the_message(sandbox: Sandbox) -> None:
    result = await check(sandbox, CommandCheck(command="yes | head -c 100000"))

    assert result.passed
    assert len(result.detail) <= 2000


async def test_pattern_that_never_ends_is_stopped() -> None:
    began = time.monotonic()

    with pytest.raises(PatternProblem, match=r"longer than 0\.3 s"):
        await find_pattern(r"(a+)+$", "a" * 60 + "b", seconds=0.3)

    assert time.monotonic() - began < 5
