import pytest

from assay_contracts.tasks import (
    Check,
    CommandCheck,
    FileCheck,
    PatternCheck,
    ProgramCheck,
    Task,
    TaskFile,
)
from assay_judge.domain.plan import rules_for

DESCRIPTION = "Counts the words and lines of a text file and writes the numbers to a short report."
RULES = rules_for(
    skill_name="word-counter", description=DESCRIPTION, paths=("SKILL.md", "scripts/count.py")
)
QUESTIONS = (
    "How long is the speech in `speech.txt`? Put the figures in `figures.txt`.",
    "My editor wants to know how many lines `novel.txt` has. Answer in `lines.txt`.",
    "Compare the length of both letters and note it in `letters.txt`.",
)


def planned(
    prompt: str = QUESTIONS[0],
    *,
    files: tuple[TaskFile, ...] = (),
    checks: tuple[Check, ...] = (FileCheck(path="figures.txt"),),
) -> Task:
    return Task(
        task_id="t1",
        prompt=prompt,
        files=files,
        success_criterion="The figures are right.",
        checks=checks,
    )


def problems(*tasks: Task, count: int | None = None) -> str:
    return "\n".join(RULES.problems(tasks, task_count=count or len(tasks)))


def test_a_good_plan_has_no_problems() -> None:
    assert problems(*(planned(question) for question in QUESTIONS)) == ""


def test_exactly_as_many_tasks_as_asked_for() -> None:
    assert "has 1 tasks; exactly 3" in problems(planned(), count=3)


def test_a_task_that_names_the_skill_is_named_itself() -> None:
    said = problems(planned(), planned("Use Word Counter on `novel.txt`, will you?"))
    assert "Task 2: the prompt gives the skill away" in said


def test_input_files_are_blind_too() -> None:
    told = TaskFile(path="hint.txt", content="see wordCounter")
    assert "input file 'hint.txt' gives the skill away" in problems(planned(files=(told,)))
    path = TaskFile(path="word_counter.txt", content="x")
    assert "gives the skill away" in problems(planned(files=(path,)))


def test_a_prompt_that_parrots_the_description_is_refused() -> None:
    assert "almost word for word" in problems(planned(f"Do this: {DESCRIPTION}"))


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../up.txt", "a/../../up.txt", "~/x", "", ".", "a\\b", "x\0y"]
)
def test_only_plain_relative_paths(path: str) -> None:
    file = TaskFile(path=path, content="x")
    assert "not a plain relative path" in problems(planned(files=(file,)))
    if path:
        assert "not a plain relative path" in problems(planned(checks=(FileCheck(path=path),)))


def test_files_are_bounded_and_unique() -> None:
    big = TaskFile(path="big.txt", content="x" * 300_000)
    assert "300000 bytes together" in problems(planned(files=(big,)))
    twice = TaskFile(path="a.txt", content="x")
    assert "given twice" in problems(planned(files=(twice, twice)))


def test_checks_must_be_checkable() -> None:
    assert "no regular expression" in problems(
        planned(checks=(PatternCheck(pattern="(", path="a"),))
    )
    again = CommandCheck(command="python /workspace/skills/word-counter/scripts/count.py x")
    assert "not run the skill again" in problems(planned(checks=(again,)))
    assert "is empty" in problems(planned(checks=(CommandCheck(command="  "),)))
    program = ProgramCheck(source="open('/workspace/skills/word-counter/SKILL.md')")
    assert "not run the skill again" in problems(planned(checks=(program,)))


def test_tasks_differ_from_each_other() -> None:
    assert "Tasks 1 and 2 are the same" in problems(planned(), planned())
    other = TaskFile(path="speech.txt", content="Another speech.")
    assert problems(planned(), planned(files=(other,))) == ""
