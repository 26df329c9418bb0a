"""The one way a service speaks and listens: durable work, recorded facts, questions, live words.

Delivery is at least once. Workers are stateless: what makes an effect happen once is the scorer,
which takes the first result for a step and drops the others.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import structlog
from faststream import AckPolicy
from faststream.nats import JStream, NatsBroker, PullSub
from faststream.nats.message import NatsMessage
from faststream.nats.opentelemetry import NatsTelemetryMiddleware
from faststream.nats.prometheus import NatsPrometheusMiddleware
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError
from prometheus_client import REGISTRY

from assay_contracts.base import Failure, Message, Model, Result, Step, Work
from assay_contracts.rpc import Rpc
from assay_contracts.topology import (
    CONSUMERS,
    GRANTS,
    JETSTREAM_PREFIX,
    LANES,
    PUBLIC_FACTS,
    SHARED_DELIVERIES,
    SOLO_DELIVERIES,
    ServiceName,
    consumer_name,
    stream_of,
)
from assay_servicekit.delivery import dead_letter, heartbeat, retry_delay_s
from assay_servicekit.lanes import Lanes
from assay_servicekit.large_messages import fitted, is_too_large, whole
from assay_servicekit.objects import ObjectStore, ObjectStoreUnavailable
from assay_servicekit.questions import Q, Questions, R, Unavailable
from assay_servicekit.settings import ServiceSettings
from assay_servicekit.spending import costs_told, with_costs
from assay_servicekit.streams import Stream

M = TypeVar("M", bound=Message)
W = TypeVar("W", bound=Work)

PUBLISH_TIMEOUT_S = 5.0
TOPOLOGY_WAIT_S = 60.0
FACT_TRIES = 8
ANSWER_GRACE_S = 5.0
EXIT_BUS_LOST = 70

__all__ = ("Bus", "TopologyMissing", "Unavailable")

log = structlog.get_logger(__name__)


class TopologyMissing(RuntimeError):
    """The bus lacks the consumers or buckets this service needs."""


async def _itself(message: NatsMessage) -> NatsMessage:
    # Decoding is ours: bytes that do not parse must reach the dead letters, not an exception.
    return message


class Bus:
    def __init__(self, settings: ServiceSettings, service: ServiceName) -> None:
        self.service: ServiceName = service
        self._worker = f"{service} {socket.gethostname()}:{os.getpid()}"[:200]
        self._handover_s = settings.handover_s
        self._lanes = Lanes()
        self._under_way: set[asyncio.Task[Result]] = set()
        self._stopping = False
        self._broker = NatsBroker(
            settings.nats_url.get_secret_value(),
            name=f"assay-{service}",
            js_options={"prefix": JETSTREAM_PREFIX},
            ack_policy=AckPolicy.MANUAL,
            decoder=_itself,
            # Handlers take the message and nothing else; injecting it costs a thread's work each.
            apply_types=False,
            serializer=None,
            # The defaults give up after two minutes and then spin for ever; see `_on_closed`.
            max_reconnect_attempts=-1,
            reconnect_time_wait=1,
            ping_interval=5,
            closed_cb=self._on_closed,
            logger=logging.getLogger("faststream.assay"),
            log_level=logging.DEBUG,
            graceful_timeout=settings.handover_s + ANSWER_GRACE_S,
            middlewares=(
                NatsTelemetryMiddleware(),
                NatsPrometheusMiddleware(registry=REGISTRY, app_name=f"assay-{service}"),
            ),
        )
        self._questions = Questions(service, self._connection)
        self.objects = ObjectStore(self._connection, self.jetstream)
        self.public_facts = Stream(
            self._connection, self.jetstream, "FACTS", [fact.SUBJECT for fact in PUBLIC_FACTS]
        )

    def jetstream(self) -> JetStreamContext:
        """The raw JetStream client, for plumbing that applies the topology or reads streams."""
        return self._broker.config.broker_config.connection_state.stream

    def _connection(self) -> Client:
        return self._broker.config.broker_config.connection_state.connection

    # -- listening ------------------------------------------------------------------------------

    def on_work(
        self, request: type[W], handle: Callable[[W], Awaitable[Result]], *, slots: int
    ) -> None:
        """Carry out `request` with `handle`, at most `slots` at once, and say its result.

        As many more may be under way in the background lane: with slots in common, work that can
        wait would keep waiting what cannot.

        An exception from `handle` is a defect of ours: the step ends as failed with category
        `internal`, for the scorer to retry or give up.
        """

        async def receive(message: NatsMessage) -> None:
            work = await self._parse(message, request)
            if work is None:
                return
            if self._stopping:
                await message.raw_message.nak()
                return
            structlog.contextvars.bind_contextvars(
                validation_id=str(work.validation_id), step=work.step_id
            )
            async with heartbeat(message.raw_message):
                result = await self._result_of(work, message.raw_message, handle)
                if why := is_too_large(result):
                    log.error("result_too_large", subject=result.SUBJECT, reason=why)
                    result = work.failed(Failure.of("internal", f"The result was lost: {why}."))
                result = result.model_copy(
                    update={"work_id": work.message_id, "worker": self._worker}
                )
                await self._say_until_heard(result)
            await message.raw_message.ack_sync(timeout=PUBLISH_TIMEOUT_S)

        for lane in LANES:
            # One subscriber a slot: FastStream's `max_workers` fetches more than it can run.
            for _ in range(1 if lane == "solo" else slots):
                self._subscribe_durably(request.subject_in(lane), receive)

    def on_fact(self, message: type[M], handle: Callable[[M], Awaitable[None]]) -> None:
        """Record `message` with `handle`: tried again with backoff, dead-lettered when hopeless."""

        async def receive(incoming: NatsMessage) -> None:
            fact = await self._parse(incoming, message)
            if fact is None:
                return
            raw = incoming.raw_message
            tries = raw.metadata.num_delivered
            about = {"validation_id": str(fact.validation_id)} if isinstance(fact, Step) else {}
            try:
                with structlog.contextvars.bound_contextvars(**about):
                    await handle(fact)
            except Unavailable as error:
                log.warning("fact_postponed", subject=raw.subject, reason=str(error))
                await raw.nak(delay=retry_delay_s(tries))
            except Exception as error:
                log.exception("fact_failed", subject=raw.subject, tries=tries)
                if tries >= FACT_TRIES:
                    await dead_letter(self.jetstream(), raw, f"{type(error).__name__}: {error}")
                else:
                    await raw.nak(delay=retry_delay_s(tries))
            else:
                await raw.ack_sync(timeout=PUBLISH_TIMEOUT_S)

        self._subscribe_durably(message.SUBJECT, receive)

    def on_question(self, question: type[Q], handle: Callable[[Q], Awaitable[Model]]) -> None:
        """Answer `question`; a ProblemError from `handle` is raised again where it was asked."""
        self._questions.on(question, handle)

    def on_live(self, message: type[M], handle: Callable[[M], Awaitable[None]]) -> None:
        """Hear `message` as it is said; what is missed is missed."""

        async def receive(incoming: NatsMessage) -> None:
            if incoming.raw_message.subject == message.SUBJECT:
                await handle(message.said_as(incoming.body))

        self._broker.subscriber(message.SUBJECT)(receive)

    # -- speaking -------------------------------------------------------------------------------

    async def say(self, message: Message) -> None:
        """Publish `message`; once heard, saying it again within the stream's window is harmless.

        Raises `nats.errors.Error` or TimeoutError when the bus did not take it.
        """
        await self.publish(
            message.subject(), message.model_dump_json().encode(), message.dedup_key()
        )

    async def publish(self, subject: str, body: bytes, dedup_key: str) -> int | None:
        """Like `say`, for a message that was written down before.

        Returns its sequence number in its stream, or None for what no stream keeps.
        Raises as `say`, and MessageTooLarge or ObjectStoreUnavailable.
        """
        stream = stream_of(subject)
        body = await fitted(body, self.objects, may_go_apart=stream in ("WORK", "RESULTS"))
        if stream is None:
            await self._broker.publish(body, subject)
            return None
        ack = await self._broker.publish(
            body,
            subject,
            headers={"Nats-Msg-Id": dedup_key},
            stream=stream,
            timeout=PUBLISH_TIMEOUT_S,
        )
        return ack.seq

    async def ask(self, question: Rpc[R], *, timeout_s: float = 10.0) -> R:
        """Raises ProblemError: the answerer's refusal, or SERVICE_UNAVAILABLE if none answers."""
        return await self._questions.ask(question, timeout_s=timeout_s)

    async def ask_json(self, question: Rpc[Model], *, timeout_s: float) -> bytes:
        """As `ask`, for who only passes the answer on."""
        return await self._questions.ask_json(question, timeout_s=timeout_s)

    # -- life -----------------------------------------------------------------------------------

    async def connect(self) -> None:
        """Connect; waits for the bus as long as it takes."""
        await self._broker.connect()

    async def start(self) -> None:
        """Start listening. Raises TopologyMissing when nobody has applied the topology in time."""
        try:
            async with asyncio.timeout(TOPOLOGY_WAIT_S):
                while not await self._topology_exists():  # noqa: ASYNC110  # no event tells
                    await asyncio.sleep(0.1)
        except TimeoutError as error:
            raise TopologyMissing(
                f"The bus is not set up for {self.service}. Start the scorer, which does that."
            ) from error
        await self._broker.start()
        await self._questions.start()
        # Until the server has answered, it may not know yet what this service listens to. Twice,
        # because the client's first ping overtakes what it has not yet written out.
        for _ in range(2):
            await self._connection().flush(int(PUBLISH_TIMEOUT_S))

    async def check(self) -> None:
        """Ask the bus for proof of life and of what this service needs on it.

        Raises `nats.errors.Error`, TimeoutError, Unavailable or TopologyMissing.
        """
        # A flush returns at once while the client is reconnecting, so it proves nothing then.
        if not self._connection().is_connected:
            raise Unavailable("the bus is not connected")
        if not await self._topology_exists():
            raise TopologyMissing(f"a consumer or bucket of {self.service} is missing on the bus")

    async def stop(self) -> None:
        """Stop listening; hand over what is still under way after the time allowed for it.

        A second time changes nothing.
        """
        if self._stopping:
            return
        self._stopping = True
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=self._handover_s)
        for task in self._under_way:
            task.cancel()
        await self._questions.stop(self._handover_s + ANSWER_GRACE_S)
        # A bus that is away cannot be taken leave of; what was in hand is redelivered later.
        with suppress(NatsError, TimeoutError):
            await self._broker.stop()

    # -- inside ---------------------------------------------------------------------------------

    def _subscribe_durably(
        self, subject: str, receive: Callable[[NatsMessage], Awaitable[None]]
    ) -> None:
        stream = stream_of(subject)
        assert stream is not None, f"no stream keeps {subject}"
        self._broker.subscriber(
            subject,
            stream=JStream(stream, declare=False),
            durable=consumer_name(self.service, subject),
            pull_sub=PullSub(batch_size=1),
        )(receive)

    async def _parse(self, message: NatsMessage, expected: type[M]) -> M | None:
        try:
            return expected.said_as(await whole(message.body, self.objects))
        except ObjectStoreUnavailable as error:
            log.warning("message_postponed", subject=message.raw_message.subject, reason=str(error))
            await message.raw_message.nak(delay=retry_delay_s(1))
            return None
        except ValueError as error:
            log.exception("message_rejected", subject=message.raw_message.subject)
            await dead_letter(self.jetstream(), message.raw_message, str(error))
            return None

    async def _result_of(
        self, work: W, raw: Msg, handle: Callable[[W], Awaitable[Result]]
    ) -> Result:
        allowed = SOLO_DELIVERIES if work.lane == "solo" else SHARED_DELIVERIES
        deaths = raw.metadata.num_delivered - 1
        if deaths >= allowed:
            return work.failed(
                Failure.of("worker_died", f"{deaths} workers died on this step ({work.lane} lane)")
            )
        with costs_told() as told:
            task = asyncio.ensure_future(self._carry_out(work, handle))
        self._under_way.add(task)
        try:
            result = await task
        except asyncio.CancelledError:
            if not task.cancelled() or not self._stopping:
                raise
            result = work.failed(Failure.of("handed_over", "the worker was asked to stop"))
        finally:
            self._under_way.discard(task)
        return with_costs(result, told)

    async def _carry_out(self, work: W, handle: Callable[[W], Awaitable[Result]]) -> Result:
        async with self._lanes.enter(work.lane):
            try:
                return await handle(work)
            except Exception as error:
                log.exception("work_failed")
                reason = f"{type(error).__name__}: {error}"
                return work.failed(Failure.of("internal", reason))

    async def _say_until_heard(self, result: Result) -> None:
        tries = 0
        while True:
            tries += 1
            try:
                await self.say(result)
            except (NatsError, TimeoutError, ObjectStoreUnavailable) as error:
                if self._stopping:
                    raise
                log.warning("result_not_heard", subject=result.SUBJECT, error=str(error))
                await asyncio.sleep(retry_delay_s(tries))
            else:
                return

    async def _topology_exists(self) -> bool:
        js = self.jetstream()
        grant = GRANTS[self.service]
        try:
            async with asyncio.timeout(PUBLISH_TIMEOUT_S):
                await self._connection().flush(2)
                for consumer in CONSUMERS:
                    if consumer.user == self.service:
                        await js.consumer_info(consumer.stream, consumer.name)
                for bucket in {*grant.reads, *grant.writes, *grant.deletes}:
                    await js.stream_info(f"OBJ_{bucket}")
        except NotFoundError:
            return False
        return True

    async def _on_closed(self) -> None:
        if not self._stopping:
            # A closed client never comes back; a new process does.
            log.error("bus_closed", action="exiting so that the supervisor starts a new process")
            os._exit(EXIT_BUS_LOST)
