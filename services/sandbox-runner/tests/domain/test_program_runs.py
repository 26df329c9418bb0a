import json
from datetime import UTC, datetime

import pytest

from assay_contracts.runs import TraceStep
from assay_sandbox_runner.domain.program_runs import missing_files_read, programs_ran

FILES = ("SKILL.md", "scripts/report.py", "scripts/clean.sh", "tool", "assets/table.json")
ROOT = "/workspace/skills"
HOME = f"{ROOT}/reports"
FOLDER = "/workspace/tasks/t1"


def step(command: str, *, exit_code: int = 0) -> TraceStep:
    return TraceStep(
        tool="execute",
        arguments=json.dumps({"command": command}),
        output="",
        exit_code=exit_code,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        seconds=0,
    )


def ran(command: str) -> list[tuple[str, bool]]:
    """Each program of the skill that the command runs, and whether the line's end is its end."""
    found = programs_ran([step(command)], skill="reports", files=FILES, root=ROOT, folder=FOLDER)
    return [(each.program, each.decides) for each in found]


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        (f"python3 {HOME}/scripts/report.py a.csv", [("scripts/report.py", True)]),
        (f"python3 -u {HOME}/scripts/report.py a.csv > out.md", [("scripts/report.py", True)]),
        (f"cd {HOME} && python3 scripts/report.py {FOLDER}/a.csv", [("scripts/report.py", True)]),
        (f"{HOME}/tool a.csv", [("tool", True)]),
        (f"bash {HOME}/scripts/clean.sh", [("scripts/clean.sh", True)]),
        (f"bash -c 'python3 {HOME}/scripts/report.py a.csv'", [("scripts/report.py", True)]),
        (f"python3 {HOME}/scripts/report.py a.csv && cat out.md", [("scripts/report.py", True)]),
        (f"python3 {HOME}/scripts/report.py a.csv; cat out.md", [("scripts/report.py", False)]),
        (f"python3 {HOME}/scripts/report.py a.csv | tail -5", [("scripts/report.py", False)]),
        (f"python3 {HOME}/scripts/report.py a.csv || true", [("scripts/report.py", False)]),
        (f"uv run {HOME}/scripts/report.py a.csv", [("scripts/report.py", True)]),
        # A script that the skill names and does not have.
        (f"python3 {HOME}/scripts/gone.py", [("scripts/gone.py", True)]),
        # Looking at a program, or handing one to a program of the agent's own, does not run it.
        (f"cat {HOME}/scripts/report.py", []),
        (f"python3 mine.py {HOME}/scripts/report.py", []),
        (f"python3 mine.py --table {HOME}/assets/table.json", []),
        (f"ls {HOME}/scripts; grep -n def {HOME}/scripts/report.py", []),
        ("python3 report.py", []),
    ],
)
def test_which_programs_of_the_skill_a_command_runs(
    command: str, programs: list[tuple[str, bool]]
) -> None:
    assert ran(command) == programs


def test_only_commands_run_programs() -> None:
    read = step(f"python3 {HOME}/scripts/report.py").model_copy(update={"tool": "read_file"})

    assert programs_ran([read], skill="reports", files=FILES, root=ROOT, folder=FOLDER) == ()


MANUAL = (
    "SKILL.md: omens are in `references/omens.md`, customs in [customs](references/customs.md)."
)


@pytest.mark.parametrize(
    ("tool", "arguments", "missing"),
    [
        ("read_file", {"file_path": f"{ROOT}/boats/references/omens.md"}, ["references/omens.md"]),
        ("execute", {"command": f"cat {ROOT}/boats/references/omens.md"}, ["references/omens.md"]),
        ("read_file", {"file_path": f"{ROOT}/boats/references/other.md"}, []),
        ("read_file", {"file_path": f"{ROOT}/boats/SKILL.md"}, []),
    ],
)
def test_a_file_that_is_promised_and_missing(
    tool: str, arguments: dict[str, str], missing: list[str]
) -> None:
    def read(tool: str, arguments: dict[str, str]) -> TraceStep:
        return TraceStep(
            tool=tool, arguments=json.dumps(arguments), output="", at=datetime.now(UTC), seconds=0
        )

    def found(*steps: TraceStep, files: tuple[str, ...] = ("SKILL.md",)) -> list[str]:
        ran = missing_files_read(
            steps, skill="boats", files=files, manual=MANUAL, root=ROOT, folder="/workspace"
        )
        return [each.program for each in ran]

    assert found(read(tool, arguments)) == missing
    customs = read("read_file", {"file_path": f"{ROOT}/boats/references/customs.md"})
    there = ("SKILL.md", "references/customs.md")
    assert found(read(tool, arguments), customs, files=there) == []
