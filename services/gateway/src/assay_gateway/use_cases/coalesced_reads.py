"""One question to the records for all who ask the same at the same time."""

import asyncio
from dataclasses import dataclass, field
from typing import Final, cast

from assay_contracts.base import Message, Model
from assay_contracts.rpc import Problem, ProblemError, Rpc
from assay_gateway.ports import AskJson, R

Asking = asyncio.Task[bytes | Problem]
Asked = tuple[str, str]
"""What makes two questions the same: their subject and what they say."""

_OF_THE_MESSAGE_ONLY: Final = set(Message.model_fields)
"""Its id and its time, which differ between two questions that are the same."""


@dataclass(slots=True)
class _Queue:
    """Those who ask one thing: at most one question is under way, and at most one follows it."""

    under_way: Asking | None = None
    next: Asking | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoalescedReads:
    """Asks each question once for all who ask it at the same moment, or while it is under way.

    Those who come while a question is under way share the next one, never that one: it may have
    been answered before what they know to be done. So nobody is shown anything older than their own
    request. For questions that change nothing. Whoever waits for the question under way and for
    the next waits for at most two timeouts.
    """

    ask_json: AskJson
    _queues: dict[Asked, _Queue] = field(default_factory=dict)

    async def __call__(self, question: Rpc[Model], *, timeout_s: float) -> bytes:
        """As `ports.AskJson`."""
        asked = (question.SUBJECT, question.model_dump_json(exclude=_OF_THE_MESSAGE_ONLY))
        queue = self._queues.setdefault(asked, _Queue())
        if queue.next is None:
            queue.next = asyncio.create_task(self._ask(queue, asked, question, timeout_s))
        # Whoever leaves must not take the answer with them.
        answer = await asyncio.shield(queue.next)
        if isinstance(answer, Problem):
            raise ProblemError(answer)
        return answer

    async def _ask(
        self, queue: _Queue, asked: Asked, question: Rpc[Model], timeout_s: float
    ) -> bytes | Problem:
        if queue.under_way is not None:
            await asyncio.wait((queue.under_way,))
        # From here on it is too late to join: whoever comes now waits for another.
        queue.under_way, queue.next = queue.next, None
        try:
            return await self.ask_json(question, timeout_s=timeout_s)
        except ProblemError as error:
            return error.problem
        finally:
            if queue.next is None:
                del self._queues[asked]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswers:
    """Reads the answers of an `AskJson`, which makes it an `Ask`."""

    ask_json: AskJson

    async def __call__(self, question: Rpc[R], *, timeout_s: float) -> R:
        """As `ports.Ask`."""
        answer = await self.ask_json(question, timeout_s=timeout_s)
        return cast("R", question.REPLY.model_validate_json(answer))
