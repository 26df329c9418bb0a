"""What of a skill's document was tried, as the traces tell, and what that shows."""

import json
from datetime import UTC, datetime

import pytest

from assay_contracts.coverage import Coverage, TaskShows
from assay_contracts.runs import Trace, TraceStep
from assay_contracts.tasks import Task, TaskFile, TaskId
from assay_sandbox_runner.domain.coverage import SkillUnderTest, Worked, coverage_of

HOME = "/workspace/skills/x"
SAMPLE = "name\nAda\n"
MANUAL = f"""---
name: x
description: X.
---

# X

With `people.csv`:

```csv
{SAMPLE}```

```bash
python3 scripts/a.py people.csv
```

Output:

```
1 person
```
"""


def step(command: str, exit_code: int | None = 0, output: str = "1 person\n") -> TraceStep:
    return TraceStep(
        tool="execute",
        arguments=json.dumps({"command": command}),
        output=output,
        exit_code=exit_code,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        seconds=0.1,
    )


def covered(
    manual: str,
    *steps: TraceStep,
    files: tuple[TaskFile, ...] = (),
    bundle: tuple[str, ...] = ("SKILL.md", "scripts/a.py"),
    rehearsed: bool = True,
    obstacles: dict[int, str] | None = None,
    texts: dict[str, str] | None = None,
) -> tuple[Coverage, TaskShows | None]:
    task = Task(task_id="t1", prompt="Do it.", success_criterion="It is done.", files=files)
    trace = Trace(task_id="t1", prompt="Do it.", steps=steps, answer="")
    worked = Worked(task=task, trace=trace, folder="/workspace/tasks/t1", obstacles=obstacles or {})
    skill = SkillUnderTest(
        name="x",
        manual=manual,
        files=bundle,
        texts=texts or {"SKILL.md": manual},
        root="/workspace/skills",
    )
    coverage, shows = coverage_of(skill, [worked], rehearsed=rehearsed)
    key: TaskId = "t1"
    return coverage, shows.get(key)


def shell(command: str) -> str:
    return f"# X\n\n```bash\n{command}\n```\n"


OWN = shell("python3 scripts/a.py data.csv")
RUN = f"python3 {HOME}/scripts/a.py data.csv"
MADE_UP = (TaskFile(path="data.csv", content="a,b\n1,2\n"),)
CRASH = f'Traceback (most recent call last):\n  File "{HOME}/scripts/a.py", line 3\n{{}}\n'


@pytest.mark.parametrize(
    ("exit_code", "output", "state"),
    [
        (0, "3 rows\n", "worked"),
        (0, "", "unclear"),
        (0, "0 documents found\n", "unclear"),
        (0, "Found no matches in the file\n", "unclear"),
        (1, "error: column `total` is missing\n", "unclear"),
        (1, CRASH.format("KeyError: 'total'"), "unclear"),
        (1, CRASH.format("NameError: name 'x' is not defined"), "failed"),
        (1, CRASH.format("ModuleNotFoundError: No module named 'wanted'"), "failed"),
        (
            1,
            CRASH.format("FileNotFoundError: [Errno 2] No such file or directory: 't.html'"),
            "failed",
        ),
        (2, "usage: a.py\na.py: error: unrecognized arguments: --fast\n", "failed"),
        (2, f"python3: can't open file '{HOME}/scripts/a.py': [Errno 2] No such file\n", "failed"),
        (127, "bash: pdflatex: command not found\n", "blocked"),
        (124, "", "blocked"),
        (None, "", "blocked"),
        (1, "Error: GAMMA_API_KEY is not set\n", "blocked"),
    ],
)
def test_what_a_try_on_made_up_input_shows(exit_code: int | None, output: str, state: str) -> None:
    coverage, shows = covered(OWN, step(RUN, exit_code, output), files=MADE_UP)

    assert [item.state for item in coverage.items] == [state]
    assert shows == (state if state in ("worked", "failed") else "nothing")
    assert state == "worked" or coverage.items[0].reason


def test_a_package_that_is_declared_and_not_to_be_had_is_in_the_way() -> None:
    output = CRASH.format("ModuleNotFoundError: No module named 'PIL'")
    coverage, _ = covered(
        OWN, step(RUN, 1, output), files=MADE_UP, texts={"requirements.txt": "Pillow>=10\n"}
    )

    assert coverage.items[0].state == "blocked"


def test_an_obstacle_that_was_observed_explains_more_than_what_a_program_says() -> None:
    coverage, _ = covered(
        OWN,
        step(RUN, 1, "oops\n"),
        files=MADE_UP,
        obstacles={0: "example.org: it does not resolve"},
    )

    assert coverage.items[0].state == "blocked"
    assert "does not resolve" in coverage.items[0].reason


def test_what_fails_on_its_own_sample_has_failed() -> None:
    run = step(f"python3 {HOME}/scripts/a.py people.csv", 1, "error: what is this?\n")
    sample = (TaskFile(path="people.csv", content=SAMPLE),)

    assert covered(MANUAL, run, files=sample)[0].items[0].state == "failed"
    other = (TaskFile(path="people.csv", content="b\n"),)
    assert covered(MANUAL, run, files=other)[0].items[0].state == "unclear"


def test_other_output_than_documented_for_the_documented_input_has_failed() -> None:
    run = step(f"python3 {HOME}/scripts/a.py people.csv", 0, "2 people\n")
    coverage, shows = covered(MANUAL, run, files=(TaskFile(path="people.csv", content=SAMPLE),))

    assert shows == "failed"
    assert coverage.items[0].reason == "it does not print what is documented: 1 person"


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cat SKILL.md",
        "echo done",
        "grep -n x SKILL.md",
        "cp assets/a.md b.md",
        "x --help",
    ],
)
def test_what_would_work_anywhere_exercises_nothing(command: str) -> None:
    looked = step(command, 0, "all is well\n")
    coverage, shows = covered(shell(command), looked, bundle=("SKILL.md",))

    assert coverage.programs == coverage.exercised == 0
    assert shows == "nothing"


def test_a_bad_example_is_no_part_of_what_is_offered() -> None:
    manual = "# X\n\nBad:\n\n```bash\npython3 scripts/a.py --all\n```\n"
    coverage, _ = covered(manual, bundle=("SKILL.md",))

    assert coverage.programs == 0
    assert coverage.items[0].reason == "it shows what not to do"


def test_taking_commands_out_of_the_document_leaves_the_programs_to_be_shown() -> None:
    with_both = shell("python3 scripts/a.py 1\npython3 scripts/b.py 2")
    bundle = ("SKILL.md", "scripts/a.py", "scripts/b.py")
    ran = (step(f"python3 {HOME}/scripts/a.py 1"), step(f"python3 {HOME}/scripts/b.py 2"))
    both, _ = covered(with_both, *ran, bundle=bundle)
    one, _ = covered(shell("python3 scripts/a.py 1"), ran[0], bundle=bundle)
    none, _ = covered("# X\n", bundle=bundle)

    assert (both.programs_worked, one.programs_worked, none.programs_worked) == (2, 1, 0)
    assert both.programs == one.programs == none.programs == 2


def test_an_agent_may_use_other_words_where_it_is_no_rehearsal() -> None:
    run = step(f"cd {HOME} && python3 scripts/a.py /workspace/tasks/t1/mine.csv | head")
    coverage, shows = covered(OWN, run, rehearsed=False)

    assert coverage.items[0].state == "worked"
    assert shows is None


def test_code_is_tried_by_whoever_runs_its_lines() -> None:
    manual = "# X\n\n```python\nvalues = [1, 2]\nprint(sum(values))\n```\n"
    run = step("python3 - <<'E'\nvalues = [1, 2]\nprint(sum(values))\nE")
    coverage, _ = covered(manual, run, bundle=("SKILL.md",))

    assert (coverage.programs, coverage.programs_worked) == (1, 1)


def test_a_reference_is_tried_by_reading_it() -> None:
    manual = "# X\n\nSee [how](references/how.md).\n"
    read = TraceStep(
        tool="read_file",
        arguments=json.dumps({"file_path": f"{HOME}/references/how.md"}),
        output="How.",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        seconds=0.1,
    )
    bundle = ("SKILL.md", "references/how.md")

    assert covered(manual, read, bundle=bundle, rehearsed=False)[0].items[0].state == "worked"
    assert covered(manual, bundle=bundle)[0].items[0].state == "not_tried"


def test_lines_are_those_of_the_file() -> None:
    coverage, _ = covered(MANUAL)

    assert MANUAL.splitlines()[(coverage.items[0].line or 0) - 1].startswith("python3 scripts/a.py")
