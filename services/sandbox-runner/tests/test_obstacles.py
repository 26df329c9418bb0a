"""What stood in the way of a command is told from what was observed, and only then."""

import json
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from assay_contracts.obstacles import LimitKind, ObstacleKind
from assay_contracts.runs import TraceStep
from assay_contracts.skills import Dependencies
from assay_sandbox_runner.domain.obstacles import (
    GIT,
    SeenStep,
    Suspect,
    obstacles_of,
    suspicions,
    unovercome,
)
from assay_sandbox_runner.domain.skill_needs import skill_needs
from assay_sandbox_runner.use_cases.find_obstacles import FindObstacles, FoundObstacles
from assay_sandboxes.conformance.under_test import ProviderUnderTest
from assay_sandboxes.port import Limits

LIMITS = Limits()
NOW = datetime(2026, 2, 20, 12, 0, tzinfo=UTC)
NEEDS = skill_needs(
    {"SKILL.md", "scripts/make.py", "scripts/helper.sh"},
    {
        "SKILL.md": "Run `pdflatex paper.tex` and ask api.gamma.example. Set GAMMA_API_KEY first.",
        "scripts/make.py": "import os, subprocess\nos.environ['REGION']\nsubprocess.run(['dot'])",
    },
    Dependencies(pip=("blackish>=1",)),
)
OWN = "python3 /workspace/skills/paper/scripts/make.py"
CRASH = 'Traceback (most recent call last):\n  File "make.py", line 3, in <module>\n'
EXEC = (
    'Traceback (most recent call last):\n  File "/usr/lib/python3.11/subprocess.py", line 1955, in '
    "_execute_child\nFileNotFoundError: [Errno 2] No such file or directory: 'dot'\n"
)


def step(
    command: str,
    output: str = "",
    exit_code: int | None = 1,
    *,
    limits_hit: tuple[LimitKind, ...] = (),
) -> TraceStep:
    return TraceStep(
        tool="execute",
        arguments=json.dumps({"command": command}),
        output=output,
        exit_code=exit_code,
        limits_hit=limits_hit,
        at=NOW,
        seconds=1,
    )


def seen(
    command: str,
    output: str = "",
    exit_code: int | None = 1,
    *,
    index: int = 0,
    unreached: tuple[str, ...] = (),
    limits_hit: tuple[LimitKind, ...] = (),
) -> SeenStep:
    return SeenStep(
        index,
        step(command, output, exit_code, limits_hit=limits_hit),
        command,
        is_the_skills=command.startswith(OWN),
        unreached=dict.fromkeys(unreached, "unresolved"),
    )


def found(each: SeenStep, absent: Collection[Suspect] | None = None) -> list[tuple[str, str]]:
    """The obstacles of a step, where all that is suspected is absent, if nothing else is said."""
    suspected = [suspect for suspect in suspicions(each, NEEDS) if suspect.what != "python3"]
    missing = suspected if absent is None else absent
    return [(o.kind, o.what.strip("`")) for o in obstacles_of(each, NEEDS, missing, LIMITS)]


@pytest.mark.parametrize(
    ("each", "kind"),
    [
        (seen(OWN, "OSError: [Errno 27] File too large"), "file_size"),
        (seen("head -c 9G /dev/zero > x", exit_code=153), "file_size"),
        (seen("pip install torch", "ERROR: [Errno 28] No space left on device"), "space"),
        (seen("cp a b", "cp: error writing 'b': No space left on device"), "space"),
        (seen("npm i x", "npm ERR! code ENOSPC"), "space"),
        (seen(OWN, "OSError: [Errno 122] Disk quota exceeded"), "space"),
        (seen(OWN, CRASH + "MemoryError"), "memory"),
        (seen(OWN, CRASH + "numpy._core._exceptions._ArrayMemoryError: Unable"), "memory"),
        (seen(OWN, exit_code=137, limits_hit=("memory",)), "memory"),
        (seen(OWN, "bash: fork: retry: Resource temporarily unavailable"), "processes"),
        (seen(OWN, "OSError: [Errno 24] Too many open files"), "open_files"),
        (seen(OWN, exit_code=124, limits_hit=("time",)), "time"),
    ],
)
def test_limits_are_told_by_error_numbers_signals_and_the_sandbox(
    each: SeenStep, kind: LimitKind
) -> None:
    assert [name for name, _ in found(each)] == [kind]


@pytest.mark.parametrize(
    ("each", "kind", "what"),
    [
        (
            seen("pdflatex paper.tex", "bash: line 1: pdflatex: command not found", 127),
            "missing_tool",
            "pdflatex",
        ),
        (seen("pdflatex a | tail -2", "bash: pdflatex: command not found", 0), "missing_tool",
         "pdflatex"),
        (seen(OWN, EXEC), "missing_tool", "dot"),
        (seen(OWN, "Error: spawn dot ENOENT"), "missing_tool", "dot"),
        (seen(OWN, CRASH + "RuntimeError: install pandoc first"), "missing_tool", "pandoc"),
        (seen(OWN, unreached=("api.gamma.example",)), "unreachable_host", "api.gamma.example"),
        (seen("curl -sf https://api.gamma.example", "", 6, unreached=("api.gamma.example",)),
         "unreachable_host", "api.gamma.example"),
        (seen(OWN, CRASH + "KeyError: 'REGION'"), "missing_key", "REGION"),
        (seen(OWN, "error: GAMMA_API_KEY is not set"), "missing_key", "GAMMA_API_KEY"),
        (seen(OWN, CRASH + "HTTPError: 401 Client Error: Unauthorized"), "missing_key",
         "GAMMA_API_KEY"),
        (seen(OWN, "fatal: not a git repository", 128), "missing_precondition", GIT),
    ],
)  # fmt: skip
def test_what_is_missing_is_told_by_what_was_observed(
    each: SeenStep, kind: ObstacleKind, what: str
) -> None:
    assert found(each) == [(kind, what)]
    if kind != "unreachable_host":
        assert found(each, absent=()) == []  # it is there after all


@pytest.mark.parametrize(
    "each",
    [
        seen("jqq . x.json", "bash: jqq: command not found", 127),  # the agent's own idea
        seen("curl https://other.example", "", 6, unreached=("other.example",)),
        seen("sleep 500", exit_code=124, limits_hit=("time",)),
        seen(OWN, CRASH + "NameError: name 'x' is not defined"),
        seen(OWN, "GAMMA_API_KEY unset, going on\n" + CRASH + "NameError: name 'x'"),
        seen(OWN, "helper.sh: command not found", 127),  # what the skill brings itself
        seen("blackish x.py", "bash: blackish: command not found", 127),  # what it declares
        seen(OWN, CRASH + "FileNotFoundError: [Errno 2] No such file or directory: 'in.csv'"),
        seen(OWN, "all 28 done", 0),
        seen(OWN, "it did not end", 124),  # it hung: the sandbox saw no work
    ],
)
def test_what_is_the_skills_or_the_agents_own_is_no_obstacle(each: SeenStep) -> None:
    assert found(each) == []


def test_an_obstacle_is_overcome_once_the_same_program_works() -> None:
    first = seen(OWN, EXEC, index=0)
    again = seen(f"{OWN} --plain", "", 0, index=1)
    other = seen("python3 my_own.py", "", 0, index=1)
    (obstacle,) = obstacles_of(first, NEEDS, suspicions(first, NEEDS), LIMITS)

    assert unovercome([obstacle], [first, again]) == ()
    assert unovercome([obstacle], [first, other]) == (obstacle,)


async def test_real_limits_and_missing_things_are_found_in_a_real_sandbox(
    bubblewrap: ProviderUnderTest,
) -> None:
    small = replace(
        LIMITS,
        command_seconds=1.0,
        file_bytes=4 * 1024**2,
        workspace_bytes=16 * 1024**2,
        memory_bytes=128 * 1024**2,
    )
    commands: dict[str, ObstacleKind | None] = {
        "head -c 9000000 /dev/zero > large": "file_size",
        "for n in 1 2 3 4 5 6; do head -c 3500000 /dev/zero > part$n || exit 1; done": "space",
        "rm -f part*; python3 -c 'bytes(300 << 20)'": "memory",
        "pdflatex paper.tex": "missing_tool",
        "git log": "missing_precondition",
        "python3 -c 'import os; os.environ[\"REGION\"]'": "missing_key",
        "pdflatex() { while :; do :; done; }; pdflatex": "time",
        "pdflatex() { sleep 9; }; pdflatex": None,
        "python3 -c 1/0": None,
    }
    provider, skills = bubblewrap.provider, bubblewrap.skills
    async with provider.open(
        name="obstacles", skills=skills, network="blocked", limits=small
    ) as sandbox:
        results = {command: await sandbox.execute(command) for command in commands}
        found_in = {
            command: await FindObstacles(limits=small)(
                [step(command, result.output, result.exit_code, limits_hit=result.limits_hit)],
                sandbox=sandbox,
                folder="/workspace",
                needs=replace(NEEDS, words=NEEDS.words | {"git"}),
                skills_steps=frozenset({0} if "pdflatex" in command or "git" in command else ()),
                hosts_matter=False,
            )
            for command, result in results.items()
        }

    assert {command: _kind(each) for command, each in found_in.items()} == commands


def _kind(each: FoundObstacles) -> ObstacleKind | None:
    return each.every[0].kind if each.every else None
