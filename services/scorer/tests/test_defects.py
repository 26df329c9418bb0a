import pytest

from assay_contracts.attribution import Attribution, AttributionKind, ProgramEnd, ProgramRun
from assay_contracts.runs import TaskOutcome
from assay_contracts.skills import FileEntry, SkillManifest
from assay_scorer.domain.defects import defects, says_too_little, unexercised


def outcome(task_id: str, kind: AttributionKind, *programs: tuple[str, ProgramEnd]) -> TaskOutcome:
    return TaskOutcome(
        task_id=task_id,
        trace_key=task_id,
        skills_used=(),
        checks=(),
        commands=len(programs),
        seconds=1,
        answer="",
        attribution=Attribution(
            kind=kind,
            programs=tuple(
                ProgramRun(
                    program=name, command=f"python3 {name}", step=0, ended=ended, error=ended
                )
                for name, ended in programs
            ),
        ),
    )


def test_a_program_that_fails_each_time_and_is_worked_around_is_a_defect_in_the_main_path() -> None:
    (found,) = defects(
        [
            outcome("t1", "around", ("a.py", "refused")),
            outcome("t2", "around", ("a.py", "crashed")),
            outcome("t3", "without"),
        ]
    )

    assert (found.program, found.tasks, found.main_path) == ("a.py", ("t1", "t2"), True)
    assert found.error == "crashed"


def test_a_program_that_worked_once_is_in_order() -> None:
    runs = [
        outcome("t1", "with", ("a.py", "crashed"), ("a.py", "worked")),
        outcome("t2", "around", ("a.py", "refused")),
    ]

    assert defects(runs) == ()


def test_a_program_whose_end_nobody_can_tell_is_no_defect() -> None:
    assert defects([outcome("t1", "with", ("a.py", "unclear"))]) == ()


def test_a_helper_that_breaks_while_the_work_gets_done_with_the_skill_is_only_named() -> None:
    (found,) = defects([outcome("t1", "with", ("a.py", "worked"), ("helper.py", "crashed"))])

    assert (found.program, found.main_path) == ("helper.py", False)


def manifest(*commands: str) -> SkillManifest:
    files = tuple(
        FileEntry(path=path, size=1) for path in ("SKILL.md", "scripts/a.py", "assets/a.md")
    )
    return SkillManifest(name="x", description="x", files=files, commands=commands)


def test_documented_programs_that_nobody_ran_leave_the_skill_unexercised() -> None:
    read_only = [outcome("t1", "with"), outcome("t2", "without")]

    assert unexercised(manifest("python3 scripts/a.py in.csv"), read_only) == ("scripts/a.py",)
    assert unexercised(manifest("ls"), read_only) == ()
    assert unexercised(manifest("cp assets/a.md x.md"), read_only) == ()
    assert unexercised(manifest(), read_only) == ()


def test_one_run_is_enough_whatever_came_of_it() -> None:
    ran = [outcome("t1", "with", ("scripts/a.py", "unclear")), outcome("t2", "with")]

    assert unexercised(manifest("python3 scripts/a.py in.csv"), ran) == ()


def test_nothing_is_said_of_data_in_which_nobody_looked() -> None:
    old = outcome("t1", "with", ("a.py", "crashed")).model_copy(update={"attribution": None})

    assert defects([old]) == ()
    assert unexercised(manifest("python3 scripts/a.py"), [old]) == ()


@pytest.mark.parametrize(
    ("paths", "lines", "too_little"),
    [
        (("SKILL.md",), 4, True),
        (("SKILL.md", "LICENSE.txt"), 1, True),
        (("SKILL.md",), 5, False),
        (("SKILL.md", "references/tone.md"), 2, False),
        (("SKILL.md", "scripts/a.py"), 2, False),
        ((), 0, False),
    ],
)
def test_a_sentence_or_two_is_no_skill(
    paths: tuple[str, ...], lines: int, too_little: bool
) -> None:
    files = tuple(FileEntry(path=path, size=1) for path in paths)
    skill = SkillManifest(name="x", description="x", files=files, body_lines=lines)

    assert says_too_little(skill) == too_little
