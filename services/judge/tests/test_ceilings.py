"""The rules by which code lowers a grade: on what it saw of the result, and on nothing else."""

import re
from pathlib import Path

import pytest

import assay_judge
from assay_contracts.runs import Trace, TraceStep
from assay_judge.domain.ceilings import CEILINGS, highest_grade, lowerings
from assay_testkit.judge import checked, command, step, trace_of

WORKED = trace_of([command("count memo.txt")])
WROTE = step("write_file", {"file_path": "/workspace/tasks/t1/answer.txt", "content": "3"})


@pytest.mark.parametrize(
    ("trace", "passed", "highest"),
    [
        (WORKED, (True, True), 5),
        (WORKED, (True, False), 4),
        (WORKED, (True, False, False), 3),
        (WORKED, (False, False), 2),
        (WORKED, (), 5),
        (trace_of([]), (), 2),
        (trace_of([]), (True,), 5),
        (trace_of([command("x", "boom", 1)]), (True,), 5),
        (trace_of([command("x", "boom", 1), command("y")]), (True,), 5),
    ],
)
def test_the_ceiling_stands_on_what_code_saw(
    trace: Trace, passed: tuple[bool, ...], highest: int
) -> None:
    assert highest_grade(trace, checked(*passed)) == highest


def test_a_check_that_passed_before_the_work_shows_nothing() -> None:
    idle = trace_of([command("ls")]).model_copy(update={"files_made": ()})
    vacuous = tuple(c.model_copy(update={"passed_before": True}) for c in checked(True, True))
    assert highest_grade(idle, vacuous) == 2
    assert highest_grade(idle, (*vacuous, *checked(True))) == 5
    # A file that was there before and was changed in place shows work.
    assert highest_grade(WORKED, vacuous) == 5


@pytest.mark.parametrize(
    "looked_round",
    [
        command("ls; cat x 2>/dev/null", "memo.txt\n", 1),
        command("grep -n total memo.txt", "", 1),
        command("which pandoc", "", 1),
        command("python3 -c 'import pandas'", "ModuleNotFoundError: No module named 'pandas'", 1),
        command("sleep 999", "[killed: it had not ended after 120 s]", 124),
    ],
)
def test_a_command_that_fails_on_the_way_is_nothing(looked_round: TraceStep) -> None:
    trace = trace_of([looked_round, WROTE, looked_round])
    assert lowerings(5, trace, checked(True, True)) == ()
    assert highest_grade(trace, ()) == 5


def test_of_several_rules_the_strictest_says_why() -> None:
    (lowering,) = lowerings(5, WORKED, checked(False, False, False))
    assert (lowering.rule, lowering.at_most) == ("every-check-failed", 2)
    assert lowering.reason == "every check failed"
    assert lowerings(2, WORKED, checked(False)) == ()


def test_no_rule_looks_at_an_exit_code_and_every_rule_has_an_id_of_its_own() -> None:
    source = (Path(assay_judge.__file__).parent / "domain/ceilings.py").read_text()
    assert not re.search("exit_?code", source)
    assert len({rule.rule for rule in CEILINGS}) == len(CEILINGS)
    assert [rule.at_most for rule in CEILINGS] == sorted(rule.at_most for rule in CEILINGS)
