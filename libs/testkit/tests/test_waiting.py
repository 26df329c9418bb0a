import asyncio
from collections.abc import Iterator

import pytest

from assay_testkit.waiting import until, until_sync


class Answers:
    """Gives one answer after another; an exception among them is raised."""

    def __init__(self, *answers: object) -> None:
        self._left: Iterator[object] = iter(answers)

    def __call__(self) -> object:
        answer = next(self._left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def later(self) -> object:
        await asyncio.sleep(0)
        return self()


async def test_the_first_truthy_value_is_given_back() -> None:
    assert await until(Answers(0, "", "there", "later"), why="it is there") == "there"
    assert await until(Answers(None, "there").later, why="it is there") == "there"
    assert until_sync(Answers(None, [], "there"), why="it is there") == "there"


async def test_the_failure_says_what_was_waited_for_and_what_was_seen() -> None:
    said = r"waited 0\.05 s in vain: the cat is home \(last seen: \[\]\)"
    with pytest.raises(AssertionError, match=said):
        await until(list[str], why="the cat is home", timeout_s=0.05)
    with pytest.raises(AssertionError, match=said):
        until_sync(list[str], why="the cat is home", timeout_s=0.05)


async def test_an_answer_that_never_comes_is_cut_short() -> None:
    with pytest.raises(AssertionError, match="it answers"):
        await until(asyncio.Event().wait, why="it answers", timeout_s=0.05)


async def test_only_exceptions_that_mean_not_yet_are_borne() -> None:
    refused = ConnectionRefusedError("nobody listens")
    assert await until(Answers(refused, "up"), why="up", ignoring=OSError) == "up"
    assert until_sync(Answers(refused, "up"), why="up", ignoring=(OSError, KeyError)) == "up"
    with pytest.raises(ConnectionRefusedError):
        await until(Answers(refused, "up"), why="up", ignoring=KeyError)
    with pytest.raises(ConnectionRefusedError):
        until_sync(Answers(refused, "up"), why="up")


async def test_a_timeout_of_the_question_itself_passes_through() -> None:
    with pytest.raises(TimeoutError, match="of its own"):
        await until(Answers(TimeoutError("of its own")), why="it answers")
