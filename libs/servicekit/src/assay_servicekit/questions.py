"""Questions that one service asks another and waits for, straight over the bus's client.

Nothing keeps a question: who asks hears at once when nobody answers, and asks again or gives up.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import perf_counter
from typing import Final, Literal, TypeVar, cast
from uuid import uuid4

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind
from prometheus_client import Histogram

from assay_contracts.base import Message, Model
from assay_contracts.rpc import Problem, ProblemDetails, ProblemError, Reply, Rpc
from assay_contracts.topology import ServiceName
from assay_servicekit.objects import ObjectStoreUnavailable

R = TypeVar("R", bound=Model)
Q = TypeVar("Q", bound=Rpc[Model])
Outcome = Literal["answered", "refused", "failed"]

WORKERS: Final = 64
"""So many questions on one subject are answered at once; others wait in the client."""
RECONNECT_WAIT_S: Final = 5.0
VALUE: Final = b'{"value":'
"""How a `Reply` that is no refusal begins: what follows is the answer and the closing brace."""

_OWNERS: Final = {"records": "scorer", "workbench": "sandbox-runner"}
"""Who answers, where the subject does not begin with their name."""

ASKED = Histogram(
    "assay_question_asked_seconds",
    "From asking a question to its answer; failed: nobody answered.",
    ("subject", "outcome"),
)
ANSWERED = Histogram(
    "assay_question_answered_seconds",
    "From hearing a question to its answer; failed: by a defect of ours.",
    ("subject", "outcome"),
)

log = structlog.get_logger(__name__)
tracer = trace.get_tracer(__name__)


class Unavailable(Exception):
    """Something this handler needs is down; the message is tried again, however often it takes."""


class AnswerTooLarge(RuntimeError):
    """An answer that no message can carry: a defect of whoever gave it."""


class NotUnderstood(ValueError):
    """What was asked is not the question that it should be."""


class Questions:
    """Asks and answers over the client that `connection` gives once it is connected."""

    def __init__(self, service: ServiceName, connection: Callable[[], Client]) -> None:
        self._service: ServiceName = service
        self._connection = connection
        self._answerers: dict[str, Callable[[Msg], Awaitable[None]]] = {}
        self._subscriptions: list[Subscription] = []
        self._under_way: set[asyncio.Task[None]] = set()

    def on(self, question: type[Q], handle: Callable[[Q], Awaitable[Model]]) -> None:
        """Answer `question`; a ProblemError from `handle` is raised again where it was asked."""
        room = asyncio.Semaphore(WORKERS)

        async def answer(message: Msg) -> None:
            began = perf_counter()
            asked_by = propagate.extract(message.headers or {})
            name = f"{question.SUBJECT} answer"
            with tracer.start_as_current_span(name, context=asked_by, kind=SpanKind.SERVER):
                outcome, body = await self._answer(question, message.data, handle)
                try:
                    await message.respond(body)
                except NatsError:
                    log.exception("answer_not_sent", subject=question.SUBJECT, bytes=len(body))
                    outcome = "failed"
            ANSWERED.labels(question.SUBJECT, outcome).observe(perf_counter() - began)

        def ended(task: asyncio.Task[None]) -> None:
            room.release()
            self._under_way.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                log.error("answering_failed", subject=question.SUBJECT, exc_info=error)

        async def receive(message: Msg) -> None:
            if not _is_asked(message, question):
                log.warning("not_asked", subject=question.SUBJECT, came_as=message.subject)
                return
            await room.acquire()
            task = asyncio.create_task(answer(message))
            self._under_way.add(task)
            task.add_done_callback(ended)

        self._answerers[question.SUBJECT] = receive

    async def ask(self, question: Rpc[R], *, timeout_s: float) -> R:
        """Raises ProblemError: the answerer's refusal, or SERVICE_UNAVAILABLE if none answers."""
        answer = await self.ask_json(question, timeout_s=timeout_s)
        return cast("R", question.REPLY.model_validate_json(answer))

    async def ask_json(self, question: Rpc[Model], *, timeout_s: float) -> bytes:
        """As `ask`, but the answer is the JSON it came as: a `REPLY`, though nobody checked it."""
        began = perf_counter()
        outcome: Outcome = "failed"
        try:
            answer = await self._request(question, timeout_s)
            if not answer.startswith(VALUE + b"{"):
                outcome = "refused"
                refusal = Reply[Model].model_validate_json(answer).problem
                raise ProblemError(refusal or _try_later("The answer was empty."))
            outcome = "answered"
        finally:
            ASKED.labels(question.SUBJECT, outcome).observe(perf_counter() - began)
        return answer[len(VALUE) : -1]

    async def start(self) -> None:
        """Listen to every question there is an answer to."""
        for subject, receive in self._answerers.items():
            self._subscriptions.append(
                await self._connection().subscribe(subject, queue=self._service, cb=receive)
            )

    async def stop(self, within_s: float) -> None:
        """Take no more questions, and answer those in hand within the time allowed for it."""
        subscriptions, self._subscriptions = self._subscriptions, []
        with suppress(NatsError, TimeoutError):
            async with asyncio.timeout(within_s):
                if subscriptions and self._connection().is_connected:
                    await asyncio.gather(
                        *(heard.drain() for heard in subscriptions)  # type: ignore[no-untyped-call]  # nats-py's
                    )
                if self._under_way:
                    await asyncio.wait(self._under_way)
        for task in self._under_way:
            task.cancel()

    async def _answer(
        self, question: type[Q], asked: bytes, handle: Callable[[Q], Awaitable[Model]]
    ) -> tuple[Outcome, bytes]:
        try:
            body = self._written(await handle(_understood(question, asked)))
        except ProblemError as error:
            return "refused", _refusal(error.problem)
        except NotUnderstood as error:
            log.warning("question_not_understood", subject=question.SUBJECT, reason=str(error))
            return "refused", _refusal(_not_understood(question))
        except (Unavailable, ObjectStoreUnavailable) as error:
            log.warning("question_postponed", subject=question.SUBJECT, reason=str(error))
            later = _try_later("The records cannot be reached now. Try again in a few seconds.")
            return "refused", _refusal(later)
        except Exception:
            # Whoever asked is waiting: a defect of ours is an answer too.
            error_id = uuid4().hex
            log.exception("question_failed", subject=question.SUBJECT, error_id=error_id)
            return "failed", _refusal(_defect(self._service, error_id))
        return "answered", body

    def _written(self, value: Model) -> bytes:
        body = VALUE + value.model_dump_json().encode() + b"}"
        if len(body) > self._connection().max_payload:
            raise AnswerTooLarge(f"{len(body)} bytes do not fit into a message")
        return body

    async def _request(self, question: Rpc[Model], timeout_s: float) -> bytes:
        subject = question.SUBJECT
        with tracer.start_as_current_span(f"{subject} ask", kind=SpanKind.CLIENT):
            headers: dict[str, str] = {}
            propagate.inject(headers)
            try:
                await self._connected(min(timeout_s, RECONNECT_WAIT_S))
                body = question.model_dump_json().encode()
                # Without a trace there are no headers, and an empty set of them is not sent.
                answer = await self._connection().request(
                    subject, body, timeout=timeout_s, headers=headers or None
                )
            except (NatsError, TimeoutError) as error:
                owner = subject.partition(".")[0]
                owner = _OWNERS.get(owner, owner)
                why = "is not running" if isinstance(error, NoRespondersError) else "did not answer"
                raise ProblemError(
                    _try_later(f"The {owner} service {why}. Try again in a few seconds.")
                ) from error
        return answer.data

    async def _connected(self, within_s: float) -> None:
        """Wait for a bus that is away, so that no question is sent when nobody waits for it."""
        if self._connection().is_connected:
            return
        async with asyncio.timeout(within_s):
            while not self._connection().is_connected:  # noqa: ASYNC110  # no event tells
                await asyncio.sleep(0.05)


def _understood(question: type[Q], asked: bytes) -> Q:
    try:
        return question.said_as(asked)
    except ValueError as error:
        raise NotUnderstood(" ".join(str(error).split())[:1000]) from error


def _not_understood(question: type[Message]) -> Problem:
    return Problem(
        code="VALIDATION_ERROR",
        message=f"What came as {question.SUBJECT} is no such question, so nothing was done. Asker "
        "and answerer may be of different versions: upgrade the answerer first.",
    )


def _is_asked(message: Msg, question: type[Message]) -> bool:
    """Whether somebody waits for an answer; what a stream delivers keeps the subject it had."""
    waits = bool(message.reply) and not message.reply.startswith("$")
    return waits and message.subject == question.SUBJECT


def _refusal(problem: Problem) -> bytes:
    return Reply[Model](problem=problem).model_dump_json().encode()


def _defect(service: ServiceName, error_id: str) -> Problem:
    return Problem(
        code="VALIDATION_ERROR",
        message=f"Something went wrong on our side. Look for {error_id} in the {service}'s log.",
        details=ProblemDetails(error_id=error_id),
    )


def _try_later(message: str) -> Problem:
    return Problem(
        code="SERVICE_UNAVAILABLE", message=message, details=ProblemDetails(retry_after_s=5)
    )
