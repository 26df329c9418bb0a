"""When a follower looks at the records, without a bus and without waiting."""

import asyncio
from collections.abc import Callable
from typing import cast
from uuid import UUID, uuid4

from assay_contracts.rpc import GetStatus, Problem, ProblemError, Rpc, SkillStatusView
from assay_contracts.validations import ValidationProgressed
from assay_gateway.adapters.live_progress import LiveProgress
from assay_gateway.ports import R
from assay_gateway.use_cases.live_updates import FollowUpdates, followable_validation
from assay_testkit.gateway.samples import sample_status

NEVER_S = 3600.0


class Answers:
    """Gives these answers in turn, and the last one again and again."""

    def __init__(self, *answers: SkillStatusView | Problem) -> None:
        self._answers = list(answers)
        self.asked = 0
        self.before_each: Callable[[], object] = lambda: None

    async def __call__(self, question: Rpc[R], *, timeout_s: float) -> R:
        assert isinstance(question, GetStatus)
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self.before_each()
        if isinstance(answer, Problem):
            raise ProblemError(answer)
        return cast("R", answer)


def said(skill_id: UUID) -> ValidationProgressed:
    return ValidationProgressed(
        validation_id=uuid4(), skill_id=skill_id, step="online_run", detail=""
    )


async def test_what_changed_before_listening_is_not_missed() -> None:
    first = sample_status(uuid4())
    done = sample_status(first.skill_id, "completed")
    follow = FollowUpdates(ask=Answers(done), progress=LiveProgress(), poll_s=NEVER_S, gather_s=0)

    assert [update async for update in follow(followable_validation(first), first)] == [first, done]


async def test_each_progress_heard_is_looked_up_and_an_unchanged_status_is_not_repeated() -> None:
    first = sample_status(uuid4())
    done = sample_status(first.skill_id, "completed")
    progress = LiveProgress()
    ask = Answers(first, first, done)
    ask.before_each = lambda: asyncio.create_task(progress.heard(said(first.skill_id)))
    follow = FollowUpdates(ask=ask, progress=progress, poll_s=NEVER_S, gather_s=0)

    assert [update async for update in follow(followable_validation(first), first)] == [first, done]
    assert ask.asked == 3


async def test_without_live_progress_the_records_are_looked_at_all_the_same() -> None:
    first = sample_status(uuid4())
    done = sample_status(first.skill_id, "inconclusive")
    ask = Answers(first, first, first, done)
    follow = FollowUpdates(ask=ask, progress=LiveProgress(), poll_s=0.001, gather_s=0)

    assert [update async for update in follow(followable_validation(first), first)] == [first, done]


async def test_an_unavailable_scorer_is_waited_for() -> None:
    first = sample_status(uuid4())
    done = sample_status(first.skill_id, "completed")
    down = Problem(code="SERVICE_UNAVAILABLE", message="down")
    follow = FollowUpdates(
        ask=Answers(down, down, done), progress=LiveProgress(), poll_s=0.001, gather_s=0
    )

    updates = [update async for update in follow(followable_validation(first), first)]
    assert updates == [first, down, down, done]


async def test_any_other_refusal_is_the_last_word() -> None:
    first = sample_status(uuid4())
    gone = Problem(code="SKILL_NOT_FOUND", message="gone")
    follow = FollowUpdates(ask=Answers(gone), progress=LiveProgress(), poll_s=NEVER_S, gather_s=0)

    assert [update async for update in follow(followable_validation(first), first)] == [first, gone]


async def test_two_followers_of_one_skill_both_hear_and_leave_apart() -> None:
    progress = LiveProgress()
    skill_id = uuid4()

    with progress.listen(frozenset({skill_id})) as one:
        with progress.listen(frozenset({skill_id})) as two:
            await progress.heard(said(skill_id))
            assert (one.is_set(), two.is_set()) == (True, True)
        one.clear()
        await progress.heard(said(skill_id))
        assert one.is_set()
