import pytest

from assay_contracts.attribution import AttributionKind, ProgramEnd
from assay_sandbox_runner.domain.attribution import RanProgram, attribute_task, how_it_ended

SCRIPT = "/workspace/skills/report/scripts/report.py"
TRACEBACK = f"""Traceback (most recent call last):
  File "{SCRIPT}", line 9, in <module>
    main()
  File "{SCRIPT}", line 5, in main
    print(totl)
NameError: name 'totl' is not defined
"""
NODE = """/workspace/skills/report/scripts/report.js:3
throw new TypeError('x')
^

TypeError: x
    at Object.<anonymous> (/workspace/skills/report/scripts/report.js:3:7)
"""


def ran(
    output: str = "", exit_code: int | None = 0, *, decides: bool = True, path: str = SCRIPT
) -> RanProgram:
    return RanProgram(
        path=path,
        program=path.removeprefix("/workspace/skills/report/"),
        command=f"python3 {path} data.csv",
        step=1,
        exit_code=exit_code,
        decides=decides,
        output=output,
    )


@pytest.mark.parametrize(
    ("program", "ended", "error"),
    [
        (ran("42 rows"), "worked", ""),
        (ran(TRACEBACK, 1), "crashed", "NameError: name 'totl' is not defined"),
        (ran(TRACEBACK + "done by hand", 0, decides=False), "crashed", "NameError: name"),
        (ran(NODE, 1, path=SCRIPT.replace(".py", ".js")), "crashed", "TypeError: x"),
        (
            ran(
                f'  File "{SCRIPT}", line 3\n    def (:\n        ^\nSyntaxError: invalid syntax', 1
            ),
            "crashed",
            "SyntaxError: invalid syntax",
        ),
        (
            ran(f"python3: can't open file '{SCRIPT}': [Errno 2] No such file or directory", 2),
            "crashed",
            "can't open file",
        ),
        (ran("", 137), "crashed", "signal 9"),
        (ran("", 124), "crashed", "did not end"),
        (ran("", None), "crashed", "did not end"),
        (ran("usage: report.py\nreport.py: error: no such flag --x", 2), "refused", "no such flag"),
        (ran("Error: data.csv has no header", 1), "refused", "data.csv has no header"),
        (ran("", 3), "refused", "exit code 3"),
        (ran("ls: x: No such file", 2, decides=False), "unclear", ""),
        # Somebody else's traceback says nothing about the skill's program.
        (ran('  File "/tmp/mine.py", line 1\nValueError: x', 0), "worked", ""),
    ],
)
def test_how_a_program_ended(program: RanProgram, ended: ProgramEnd, error: str) -> None:
    found, why = how_it_ended(program, errors_are_results=False)

    assert found == ended
    assert error in why


@pytest.mark.parametrize(
    ("programs", "kind"),
    [
        ([], "with"),
        ([ran("fine")], "with"),
        ([ran(TRACEBACK, 1)], "around"),
        ([ran(TRACEBACK, 1), ran("fine")], "with"),
        ([ran(TRACEBACK, 1), ran("Error: no", 1)], "around"),
        ([ran("", 1, decides=False)], "with"),
    ],
)
def test_what_part_the_skill_had(programs: list[RanProgram], kind: AttributionKind) -> None:
    assert attribute_task(programs, was_used=True, manual="Run it.").kind == kind


def test_what_was_not_used_had_no_part() -> None:
    assert attribute_task([], was_used=False, manual="").kind == "without"


@pytest.mark.parametrize(
    "manual",
    [
        "It exits with 1 if a link is dead.",
        "Exit code: 2 on findings",
        "ends with a non-zero exit code",
    ],
)
def test_an_exit_code_that_the_skill_explains_is_a_result(manual: str) -> None:
    found = attribute_task([ran("3 dead links", 1)], was_used=True, manual=manual)

    assert found.kind == "with"
    assert found.programs[0].ended == "worked"


def test_a_crash_stays_one_whatever_the_skill_explains() -> None:
    found = attribute_task(
        [ran(TRACEBACK, 1)], was_used=True, manual="It exits with 1 on findings."
    )

    assert found.kind == "around"


def test_a_late_success_is_among_the_runs_that_are_listed() -> None:
    runs = [ran(TRACEBACK, 1) for _ in range(30)] + [ran("fine")]

    found = attribute_task(runs, was_used=True, manual="")

    assert any(run.ended == "worked" for run in found.programs)
