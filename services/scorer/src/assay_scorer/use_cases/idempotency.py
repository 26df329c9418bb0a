"""A question with a key is carried out once, and answered alike as often as it is asked."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from assay_contracts.base import Model
from assay_contracts.rpc import Problem, ProblemDetails, ProblemError, Repeatable, Rpc
from assay_scorer.ports.idempotency import KeyTaken, StoredAnswer, StoredAnswers

Q = TypeVar("Q", bound=Rpc[Model])
R = TypeVar("R", bound=Model)

NOT_FINAL: Final = frozenset({"SERVICE_UNAVAILABLE", "VALIDATION_ERROR"})
"""Refusals that asking again may change, though nothing else has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idempotent:
    """Wraps a use case whose questions may have a key.

    The key and the effect are stored together or not at all. The answer follows a moment later,
    and whoever asks in between waits for it. A refusal has no effect; the first answer to be
    stored is the answer.
    """

    answers: StoredAnswers
    looks: int = 30
    """How often an answer is looked for that is about to be kept."""
    between_looks_s: float = 0.1

    def __call__(self, handle: Callable[[Q], Awaitable[R]]) -> Callable[[Q], Awaitable[R]]:
        async def answer(question: Q) -> R:
            asked: object = question
            if not isinstance(asked, Repeatable) or asked.idempotency_key is None:
                return await handle(question)
            key, fingerprint = asked.idempotency_key, asked.fingerprint()
            if await self.answers.find(key) is not None:
                return cast("R", await self._kept_answer(key, fingerprint, question.REPLY))
            try:
                with self.answers.claimed(key, fingerprint):
                    reply = await handle(question)
                kept = StoredAnswer(fingerprint, reply.model_dump(mode="json"), None)
            except KeyTaken:
                return cast("R", await self._kept_answer(key, fingerprint, question.REPLY))
            except ProblemError as error:
                if error.problem.code in NOT_FINAL:
                    raise
                kept = StoredAnswer(fingerprint, None, error.problem.model_dump(mode="json"))
            await self.answers.keep(key, kept)
            return cast("R", await self._kept_answer(key, fingerprint, question.REPLY))

        return answer

    async def _kept_answer(self, key: str, fingerprint: str, reply: type[Model]) -> Model:
        """The answer that is kept. Raises ProblemError: a kept refusal, or why there is none."""
        for _ in range(self.looks):
            found = await self.answers.find(key)
            if found is None:
                break
            if found.fingerprint != fingerprint:
                raise ProblemError(_OTHER_REQUEST)
            if found.problem is not None:
                raise ProblemError(Problem.model_validate(found.problem))
            if found.reply is not None:
                return reply.model_validate(found.reply)
            await asyncio.sleep(self.between_looks_s)
        raise ProblemError(_NO_ANSWER_YET)


_OTHER_REQUEST: Final = Problem(
    code="INVALID_REQUEST",
    message="This Idempotency-Key was used for another request. Take a new one for each.",
    details=ProblemDetails(fields=("header.Idempotency-Key: used for another request",)),
)
_NO_ANSWER_YET: Final = Problem(
    code="REQUEST_IN_PROGRESS",
    message="The first request with this Idempotency-Key has not been answered yet. Try again in "
    "a few seconds; if this stays so, it was carried out and its answer was lost.",
    details=ProblemDetails(retry_after_s=5),
)
