"""Follow something that changes, live, without asking for it more often than it changes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic
from uuid import UUID

from assay_contracts.full_tests import FullTestView, GetFullTest
from assay_contracts.rpc import GetStatus, Problem, ProblemError, Rpc, SkillStatusView
from assay_contracts.skills import ENDED_STAGES
from assay_gateway.ports import Ask, Progress, R
from assay_gateway.use_cases.records import RECORDS_TIMEOUT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Followable(Generic[R]):
    """Something with an end, and how to see how far it is."""

    question: Rpc[R]
    skills: frozenset[UUID]
    """Progress of any of them may be news."""
    ended: Callable[[R], bool]


def followable_validation(status: SkillStatusView) -> Followable[SkillStatusView]:
    """The newest validation of the skill that this status is of."""
    return Followable(
        question=GetStatus(skill_id=status.skill_id),
        skills=frozenset({status.skill_id}),
        ended=lambda now: now.validation_stage in ENDED_STAGES,
    )


def followable_full_test(view: FullTestView) -> Followable[FullTestView]:
    return Followable(
        question=GetFullTest(full_test_id=view.full_test_id),
        skills=frozenset(each.skill_id for each in view.skills),
        ended=lambda now: now.completed_at is not None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpdates:
    """What is followed, each time it changes, until it has ended."""

    ask: Ask
    progress: Progress
    poll_s: float = 2.0
    """Live progress may get lost; nobody waits longer than this for what it was about."""
    gather_s: float = 0.1
    """Progress heard within this time is answered with one question to the records."""

    async def __call__(self, followable: Followable[R], known: R) -> AsyncIterator[R | Problem]:
        """Yield `known`, the state that was read last, and every later one.

        And what keeps us from seeing one: after a problem with SERVICE_UNAVAILABLE it goes on, any
        other problem is the last word.
        """
        seen = known
        with self.progress.listen(followable.skills) as news:
            # `known` is older than this subscription: what was said between the two is lost.
            news.set()
            yield known
            while not followable.ended(seen):
                await self._news_or_poll(news)
                try:
                    now = await self.ask(followable.question, timeout_s=RECORDS_TIMEOUT_S)
                except ProblemError as error:
                    yield error.problem
                    if error.problem.code != "SERVICE_UNAVAILABLE":
                        return
                    continue
                if now != seen:
                    seen = now
                    yield seen

    async def _news_or_poll(self, news: asyncio.Event) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self.poll_s):
                await news.wait()
        await asyncio.sleep(self.gather_s)
        news.clear()
