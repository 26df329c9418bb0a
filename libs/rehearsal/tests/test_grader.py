"""The grader alone: a request in, a grade with its evidence out."""

import pytest
from langchain_core.messages import HumanMessage

from assay_agentkit.fencing import fenced
from assay_rehearsal.conversation import ToolUse, Turn
from assay_rehearsal.grader import grader_policy


def step(exit_code: int | None = 0, output: str = "3 words\n") -> dict[str, object]:
    ended = "done" if exit_code is None else f"exit code {exit_code}"
    return {"arguments": '{"command": "count a"}', "ended": ended, "output": output}


def check(*, passed: bool) -> dict[str, object]:
    return {"passed": passed, "detail": "a.txt is there" if passed else "a.txt is not there"}


def answer_to(
    *steps: dict[str, object],
    checks: tuple[bool, ...] = (True,),
    bounds_hit: tuple[str, ...] = (),
    shows: str | None = None,
) -> ToolUse:
    work = {
        "shows": shows,
        "task": {"prompt": "Count the words.", "success_criterion": "It is counted."},
        "steps": list(steps),
        "bounds_hit": list(bounds_hit),
        "files_made": [],
        "checks": [check(passed=passed) for passed in checks],
        "answer": "Done.",
    }
    request = HumanMessage(f"Grade this.\n{fenced(work, nonce='0')}")
    (answer,) = grader_policy(Turn(messages=(request,), tools=("GradeDraft",))).calls
    assert answer.name == "GradeDraft"
    return answer


@pytest.mark.parametrize(
    ("steps", "checks", "grade"),
    [
        ((), (False,), 1),
        ((step(1),), (False,), 1),
        ((step(1),), (True,), 2),
        ((step(),), (True, False, False), 2),
        ((step(),), (True, False), 3),
        ((step(1), step()), (True,), 4),
        ((step(),), (True,), 5),
    ],
)
def test_a_grade_follows_its_table(
    steps: tuple[dict[str, object], ...], checks: tuple[bool, ...], grade: int
) -> None:
    assert answer_to(*steps, checks=checks).arguments["grade"] == grade


def test_a_bound_that_was_hit_is_no_good_work() -> None:
    answer = answer_to(step(), bounds_hit=("time",)).arguments

    assert (answer["grade"], answer["reasons"]) == (2, "The agent was stopped by a bound (time).")


@pytest.mark.parametrize(
    ("shows", "code", "grade"),
    [("worked", 0, 5), ("worked", 1, 4), ("failed", 1, 1), ("nothing", 0, 1)],
)
def test_a_rehearsed_task_is_graded_by_what_it_shows(shows: str, code: int, grade: int) -> None:
    answer = answer_to(step(code, "error: no such thing\nsee the log"), shows=shows).arguments

    assert answer["grade"] == grade
    assert code == 0 or "error: no such thing" in str(answer["reasons"])


def test_evidence_begins_with_what_failed() -> None:
    answer = answer_to(step(1, "Traceback\nboom: no file\n"), checks=(True, False)).arguments

    quotes = [{"quote": text} for text in ("a.txt is not there", "boom: no file", "count a")]
    assert answer["evidence"] == [*quotes, {"quote": "a.txt is there"}]
    assert "It said: “boom: no file”." in str(answer["reasons"])


def test_where_nothing_was_done_the_answer_is_all_there_is_to_show() -> None:
    assert answer_to(checks=()).arguments["evidence"] == [{"quote": "Done."}]
