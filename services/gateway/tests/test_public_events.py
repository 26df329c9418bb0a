"""Public events over a real bus: live, resumed, filtered, and not for listeners that are slow."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx
import pytest

from assay_contracts.base import Message
from assay_contracts.review import SkillDeleted, SkillRejected
from assay_contracts.topology import PUBLIC_FACTS
from assay_gateway.adapters.public_event_feed import MAX_WAITING, PublicEventFeed
from assay_gateway.domain.public_event import PublicEvent
from assay_gateway.use_cases.public_events import StreamPublicEvents
from assay_servicekit.background import background
from assay_servicekit.streams import Kept, Stream
from assay_testkit.gateway.running import running_gateway
from assay_testkit.gateway.services import Records
from assay_testkit.servers import RunningNats

pytestmark = pytest.mark.asyncio(loop_scope="module")

Event = tuple[str, str, str]
"""Type, id, data."""


def deleted() -> SkillDeleted:
    return SkillDeleted(skill_id=uuid4(), skill_name="alpha", actor="ann")


def rejected() -> SkillRejected:
    return SkillRejected(skill_id=uuid4(), skill_name="beta", actor="ann", revision=1, reason="No.")


@asynccontextmanager
async def listening(
    client: httpx.AsyncClient, query: str = "", last_event_id: str | None = None
) -> AsyncIterator[AsyncIterator[Event]]:
    headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
    async with (
        asyncio.timeout(60),
        client.stream("GET", f"/api/admin/events{query}", headers=headers) as response,
    ):
        assert response.status_code == 200
        lines = response.aiter_lines()
        assert await anext(lines) == ": listening"
        yield _events(lines)


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[Event]:
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.partition(": ")
        fields[name] = value
        if not line and "event" in fields:
            yield fields["event"], fields["id"], fields["data"]
        if not line:
            fields = {}


async def say(records: Records, *facts: Message) -> list[tuple[str, str]]:
    for fact in facts:
        await records.bus.say(fact)
    return [(fact.SUBJECT, fact.model_dump_json()) for fact in facts]


async def test_facts_are_told_as_they_are_said_and_again_to_whoever_missed_them(
    client: httpx.AsyncClient, records: Records, nats_server: RunningNats
) -> None:
    async with listening(client) as events:
        said = await say(records, deleted(), rejected())
        live = [await anext(events), await anext(events)]
    assert [(kind, data) for kind, _, data in live] == said
    assert int(live[0][1]) < int(live[1][1])
    said += await say(records, deleted())

    async with (
        running_gateway(nats_server.url("gateway")) as url,
        httpx.AsyncClient(base_url=url, headers=client.headers) as other,
        listening(other, last_event_id=live[0][1]) as events,
    ):
        replayed = [await anext(events), await anext(events)]
        assert replayed[0] == live[1]
        assert [(kind, data) for kind, _, data in replayed] == said[1:]
        (now,) = await say(records, rejected())
        assert (await anext(events))[::2] == now


async def test_only_facts_of_the_types_that_are_asked_for(
    client: httpx.AsyncClient, records: Records
) -> None:
    query = "?types=skill.rejected&types=runtime.promoted"
    async with listening(client, query) as events:
        _, wanted = await say(records, deleted(), rejected())
        assert (await anext(events))[::2] == wanted


@pytest.mark.parametrize(
    ("query", "last_event_id"), [("?types=run.finished", "0"), ("", "x"), ("", "-1")]
)
async def test_what_cannot_be_followed(
    client: httpx.AsyncClient, query: str, last_event_id: str
) -> None:
    answer = await client.get(f"/api/admin/events{query}", headers={"Last-Event-ID": last_event_id})
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_REQUEST")


async def test_every_public_event_can_be_asked_for(client: httpx.AsyncClient) -> None:
    document = (await client.get("/api/openapi.json")).json()
    parameters = document["paths"]["/api/admin/events"]["get"]["parameters"]
    (types,) = [each["schema"] for each in parameters if each["name"] == "types"]
    assert types["items"]["enum"] == [event.SUBJECT for event in PUBLIC_FACTS]


class ScriptedStream(Stream):
    """A stream of what a test says, and keeps what it is given."""

    def __init__(self, *kept: Kept) -> None:
        self.said: asyncio.Queue[Kept] = asyncio.Queue()
        self._kept = kept

    async def read(self, after: int) -> AsyncGenerator[Kept]:
        for kept in self._kept:
            if kept.sequence > after:
                yield kept

    async def follow(self, started: Callable[[], None]) -> AsyncGenerator[Kept]:
        started()
        while True:
            yield await self.said.get()


async def test_a_listener_that_does_not_read_is_dropped_and_the_others_are_not() -> None:
    stream = ScriptedStream()
    feed = PublicEventFeed(stream)
    running = asyncio.create_task(feed.run())
    listen = StreamPublicEvents(events=feed)
    slow, quick = listen(frozenset(), None), listen(frozenset(), None)
    assert [await anext(slow), await anext(quick)] == [None, None]
    for sequence in range(1, MAX_WAITING + 10):
        stream.said.put_nowait(Kept(sequence, "skill.deleted", b"{}"))
        event = await anext(quick)
        assert event is not None
        assert event.sequence == sequence
    got = [event.sequence async for event in slow if event is not None]
    assert got == list(range(1, MAX_WAITING + 1))
    running.cancel()


@asynccontextmanager
async def events_after(
    stream: ScriptedStream, after: int
) -> AsyncIterator[AsyncIterator[PublicEvent | None]]:
    feed = PublicEventFeed(stream)
    async with background(feed=feed.run()):
        events = StreamPublicEvents(events=feed)(frozenset(), after)
        assert await anext(events) is None
        yield events


async def test_the_number_of_a_stream_that_is_gone_hides_nothing() -> None:
    stream = ScriptedStream()
    async with events_after(stream, 500) as events:
        stream.said.put_nowait(Kept(1, "skill.deleted", b"{}"))
        assert await anext(events) == PublicEvent(1, "skill.deleted", "{}")


async def test_a_stream_that_counts_anew_hides_nothing_from_who_listens() -> None:
    old, new = Kept(500, "skill.deleted", b'"old"'), Kept(1, "skill.deleted", b'"new"')
    stream = ScriptedStream(old)
    async with events_after(stream, 0) as events:
        # Said while the past is told, it comes by both ways and is shown once.
        stream.said.put_nowait(old)
        stream.said.put_nowait(new)
        assert await anext(events) == PublicEvent(500, "skill.deleted", '"old"')
        assert await anext(events) == PublicEvent(1, "skill.deleted", '"new"')
