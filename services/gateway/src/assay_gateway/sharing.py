"""One look at the records for all who ask the same at the same time."""

import asyncio
from dataclasses import dataclass, field
from typing import cast

from assay_contracts.base import Message, Model
from assay_contracts.rpc import Problem, ProblemError, Rpc
from assay_gateway.ports import AskJson, R

Looking = asyncio.Task[bytes | Problem]

_OF_THE_ASKING_ONLY = frozenset(Message.model_fields)


@dataclass(slots=True)
class _Line:
    """Those who ask one thing: at most one look under way, and at most one that will follow it."""

    under_way: Looking | None = None
    next: Looking | None = None


@dataclass(frozen=True, slots=True)
class SharedReads:
    """Asks each question once for all who ask it at the same moment, or while it is under way.

    They share the next look, never the one under way: that may have been taken before what they
    know to be done. So nobody is shown anything older than their own request. For questions that
    change nothing; who waits for a look and its successor waits for at most two timeouts.
    """

    ask_json: AskJson
    _lines: dict[tuple[str, str], _Line] = field(default_factory=dict)

    async def ask(self, question: Rpc[R], *, timeout_s: float) -> R:
        """As `ports.Ask`."""
        answer = await self.json(question, timeout_s=timeout_s)
        return cast("R", question.REPLY.model_validate_json(answer))

    async def json(self, question: Rpc[Model], *, timeout_s: float) -> bytes:
        """As `ports.AskJson`."""
        asked = (question.SUBJECT, question.model_dump_json(exclude=set(_OF_THE_ASKING_ONLY)))
        line = self._lines.setdefault(asked, _Line())
        if line.next is None:
            line.next = asyncio.create_task(self._look(line, asked, question, timeout_s))
        # Whoever leaves must not take the answer with them.
        answer = await asyncio.shield(line.next)
        if isinstance(answer, Problem):
            raise ProblemError(answer)
        return answer

    async def _look(
        self, line: _Line, asked: tuple[str, str], question: Rpc[Model], timeout_s: float
    ) -> bytes | Problem:
        if line.under_way is not None:
            await asyncio.wait((line.under_way,))
        # From here on it is too late to join: whoever comes now waits for another.
        line.under_way, line.next = line.next, None
        try:
            return await self.ask_json(question, timeout_s=timeout_s)
        except ProblemError as error:
            return error.problem
        finally:
            if line.next is None:
                del self._lines[asked]
