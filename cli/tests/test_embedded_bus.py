"""The embedded bus keeps what it was told, and lets each user do its own work and no other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoServersError
from nats.js.api import AckPolicy, ConsumerConfig

from assay_cli.embedded.nats import NatsServer, new_passwords
from assay_cli.embedded.ports import free_ports
from assay_contracts.base import Message, Work
from assay_contracts.topology import (
    BUCKETS,
    BUS_USERS,
    CONSUMERS,
    FACTS,
    GRANTS,
    JETSTREAM_PREFIX,
    LANES,
    SERVICES,
    STREAMS,
    WORK_MESSAGES,
    BusUser,
    ServiceName,
)
from assay_contracts.validations import (
    ReportRef,
    ValidationCompleted,
    ValidationProgressed,
    ValidationTimings,
)
from assay_servicekit.accounts import account_of
from assay_servicekit.kept_messages import KeptMessages
from assay_servicekit.topology import apply_topology
from assay_testkit.servers import RunningNats, running_nats
from assay_testkit.waiting import until

EVERY_MESSAGE: tuple[type[Message], ...] = (
    *FACTS,
    *WORK_MESSAGES,
    ValidationProgressed,
    *(question for grant in GRANTS.values() for question in grant.asks),
)


class Connected:
    """A client and what the server refused it."""

    def __init__(self) -> None:
        self.client: Client
        self._refused: list[str] = []

    async def on_error(self, error: Exception) -> None:
        self._refused.append(str(error))

    async def refusals(self) -> list[str]:
        """Everything refused so far: the server answers in order."""
        # The client sends a ping before what it still holds back, so only the second comes after.
        await self.client.flush(5)
        await self.client.flush(5)
        return [text for text in self._refused if "permissions violation" in text.lower()]


@asynccontextmanager
async def connected(server: RunningNats, user: BusUser) -> AsyncIterator[Connected]:
    holder = Connected()
    holder.client = await nats.connect(
        server.url(user), error_cb=holder.on_error, allow_reconnect=False
    )
    try:
        yield holder
    finally:
        await holder.client.close()


@pytest.fixture(scope="module")
def bus() -> Iterator[RunningNats]:
    """Ours alone: what is said here would puzzle the other tests' services."""
    with running_nats() as server:
        yield server


def subjects_of(messages: tuple[type[Message], ...]) -> set[str]:
    return {message.SUBJECT for message in messages} | {
        message.subject_in(lane)
        for message in messages
        if issubclass(message, Work)
        for lane in LANES
    }


def completed() -> ValidationCompleted:
    now = datetime.now(UTC)
    return ValidationCompleted(
        validation_id=uuid4(),
        skill_id=uuid4(),
        skill_name="csv-analyzer",
        revision=1,
        kind="initial",
        bundle_sha256="0" * 64,
        verdict="passed",
        reason="well done",
        scores=None,
        models=("rehearsal:1",),
        timings=ValidationTimings(
            queued_at=now, started_at=now, completed_at=now, model_seconds=0, command_seconds=0
        ),
        report=ReportRef(url="/r", json_key="j", markdown_key="m"),
    )


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_says_its_own_and_cannot_forge_anothers(
    bus: RunningNats, service: ServiceName
) -> None:
    grant = GRANTS[service]
    own = subjects_of((*grant.says, *grant.asks))
    others = subjects_of(EVERY_MESSAGE) - own
    assert others
    async with connected(bus, service) as me:
        for subject in own:
            await me.client.publish(subject, b"")
        assert await me.refusals() == []
        for subject in others:
            await me.client.publish(subject, b"forged")
        refusals = " ".join(await me.refusals()).lower()
        assert all(f'"{subject}"' in refusals for subject in others)


@pytest.mark.parametrize("user", BUS_USERS)
async def test_nobody_listens_in(bus: RunningNats, user: BusUser) -> None:
    public = {} if user in ("observer", "gateway") else {"validation.completed"}
    eavesdrops = {
        ">",
        "_R_.>",
        "$O.>",
        "live.>",
        "run.requested",
        "run.finished",
        "dead.>",
        *public,
    }
    async with connected(bus, user) as me:
        for subject in eavesdrops:
            await me.client.subscribe(subject)
        assert len(await me.refusals()) == len(eavesdrops)


# What a stream's and a consumer's name go into; `S` and `C` stand for them.
STREAM_CALLS = (
    "STREAM.CREATE.S",
    "STREAM.UPDATE.S",
    "STREAM.DELETE.S",
    "STREAM.INFO.S",
    "STREAM.PURGE.S",
    "STREAM.MSG.GET.S",
    "STREAM.MSG.DELETE.S",
    "STREAM.SNAPSHOT.S",
    "STREAM.RESTORE.S",
    "STREAM.LEADER.STEPDOWN.S",
    "STREAM.PEER.REMOVE.S",
    "DIRECT.GET.S",
    "DIRECT.GET.S.validation.completed",
    "CONSUMER.CREATE.S",
    "CONSUMER.CREATE.S.mine",
    "CONSUMER.CREATE.S.mine.validation.completed",
    "CONSUMER.DURABLE.CREATE.S.mine",
    "CONSUMER.NAMES.S",
    "CONSUMER.LIST.S",
)
CONSUMER_CALLS = (
    "CONSUMER.CREATE.S.C",
    "CONSUMER.DURABLE.CREATE.S.C",
    "CONSUMER.DELETE.S.C",
    "CONSUMER.INFO.S.C",
    "CONSUMER.MSG.NEXT.S.C",
    "CONSUMER.RESET.S.C",
    "CONSUMER.PAUSE.S.C",
    "CONSUMER.UNPIN.S.C",
    "CONSUMER.LEADER.STEPDOWN.S.C",
)
OTHER_CALLS = (
    "INFO",
    "STREAM.NAMES",
    "STREAM.LIST",
    "ACCOUNT.PURGE.ASSAY",
    "META.LEADER.STEPDOWN",
    "SERVER.REMOVE",
    "STREAM.TEMPLATE.CREATE.mine",
)
STREAM_NAMES = (*(each.name for each in STREAMS), *(f"OBJ_{each.name}" for each in BUCKETS), "KV_x")
ENVIRONMENTS = ("environments", "contents", "kept-environments", "kept-contents")
MAY_CALL: dict[BusUser, set[str]] = {
    "observer": {
        "STREAM.INFO.FACTS",
        "DIRECT.GET.FACTS",
        "CONSUMER.INFO.FACTS.observer",
        "CONSUMER.MSG.NEXT.FACTS.observer",
        "CONSUMER.RESET.FACTS.observer",
    },
    "gateway": {
        "STREAM.INFO.FACTS",
        "DIRECT.GET.FACTS",
        "STREAM.PURGE.OBJ_uploads",
        *(
            f"{call}.OBJ_{bucket}"
            for call in ("STREAM.INFO", "DIRECT.GET")
            for bucket in ("uploads", "bundles", "traces", "reports")
        ),
    },
    "ingest": {
        *(
            f"{call}.OBJ_{bucket}"
            for call in ("STREAM.INFO", "DIRECT.GET", "STREAM.PURGE")
            for bucket in ("uploads", "bundles")
        ),
    },
    "judge": {
        "STREAM.INFO.OBJ_judging",
        *(
            f"{call}.OBJ_{bucket}"
            for call in ("STREAM.INFO", "DIRECT.GET")
            for bucket in ("bundles", "traces", "messages")
        ),
    },
    "sandbox-runner": {
        "STREAM.INFO.OBJ_traces",
        *(
            f"{call}.OBJ_{bucket}"
            for call in ("STREAM.INFO", "DIRECT.GET")
            for bucket in ("bundles", "messages", *ENVIRONMENTS)
        ),
        *(f"STREAM.PURGE.OBJ_{bucket}" for bucket in ENVIRONMENTS),
    },
}
WRITES: dict[BusUser, set[str]] = {
    "gateway": {"uploads"},
    "ingest": {"bundles"},
    "judge": {"judging", "messages"},
    "sandbox-runner": {"traces", "messages", *ENVIRONMENTS},
    "scorer": {"reports", "messages"},
}


def refused_to(user: BusUser) -> set[str]:
    """Every subject of the server's own that this user has no business with."""
    calls = set(OTHER_CALLS)
    calls |= {_named(call, stream, "") for call in STREAM_CALLS for stream in STREAM_NAMES}
    calls |= {
        _named(call, consumer.stream, consumer.name)
        for call in CONSUMER_CALLS
        for consumer in CONSUMERS
    }
    own = {
        f"{call}.{consumer.stream}.{consumer.name}"
        for call in ("CONSUMER.INFO", "CONSUMER.MSG.NEXT")
        for consumer in CONSUMERS
        if consumer.name.startswith(f"{user}-")
    }
    # The server's own prefix leads nowhere for anybody.
    refused = {f"$JS.API.{call}" for call in calls}
    refused |= {f"JS.API.{call}" for call in calls - own - MAY_CALL[user]}
    refused |= {
        f"$JS.ACK.{consumer.stream}.{consumer.name}.1.1.1.1.0"
        for consumer in CONSUMERS
        if consumer.user != user
    }
    refused |= {
        f"$O.{bucket.name}.{part}.x"
        for bucket in BUCKETS
        for part in "CM"
        if bucket.name not in WRITES.get(user, set())
    }
    refused |= {"$JS.FC.FACTS.observer.x", "$KV.x.y", "$SYS.REQ.SERVER.PING", "_R_.a.b", "live.x"}
    return refused | {"dead.x", "$JS.EVENT.ADVISORY.x", "_INBOX.x", "OBJ_traces.x"}


def _named(call: str, stream: str, consumer: str) -> str:
    words = call.split(".")
    return ".".join({"S": stream, "C": consumer}.get(word, word) for word in words)


@pytest.mark.parametrize("user", [user for user in BUS_USERS if user != "scorer"])
async def test_what_the_server_offers_is_refused_beyond_ones_own(
    bus: RunningNats, user: BusUser
) -> None:
    refused = refused_to(user)
    async with connected(bus, user) as me:
        for subject in sorted(refused):
            await me.client.publish(subject, b"{}")
        told = " ".join(await me.refusals()).lower()
        assert [subject for subject in sorted(refused) if f'"{subject.lower()}"' not in told] == []


QUESTIONS = tuple({question for grant in GRANTS.values() for question in grant.asks})


@asynccontextmanager
async def everybody_listening(server: RunningNats) -> AsyncIterator[list[str]]:
    """What reaches anybody who takes questions, words or facts."""
    heard: list[str] = []
    async with AsyncExitStack() as listeners:
        for user in BUS_USERS:
            holder = await listeners.enter_async_context(connected(server, user))

            def listener(who: BusUser) -> Callable[[Msg], Awaitable[None]]:
                async def note(message: Msg) -> None:
                    heard.append(f"{who} heard {message.subject}")

                return note

            for subject in account_of(user).subscribe[1:]:
                await holder.client.subscribe(subject, cb=listener(user))
            assert await holder.refusals() == []
        yield heard


async def kept(server: RunningNats) -> dict[str, int]:
    async with connected(server, "scorer") as scorer:
        js = scorer.client.jetstream(prefix=JETSTREAM_PREFIX)
        return {each.name: (await js.stream_info(each.name)).state.messages for each in STREAMS}


FORGED = b'{"skill_id": "00000000-0000-0000-0000-000000000001", "actor": "mallory"}'


@pytest.mark.parametrize("user", [user for user in BUS_USERS if user != "scorer"])
async def test_the_server_says_nothing_on_anybodys_behalf(
    fresh_nats_server: RunningNats, user: BusUser
) -> None:
    """Whatever may be called, with the answer sent to every subject that is another's."""
    mine = account_of(user)
    own = {each.to for each in mine.calls} | set(mine.tells) | set(mine.subscribe)
    targets = sorted(
        (subjects_of(EVERY_MESSAGE) | {"live.validation.completed", "dead.run.requested"}) - own
    )
    async with connected(fresh_nats_server, "scorer") as scorer:
        js = scorer.client.jetstream()
        await js.publish("skill.approved", FORGED)
        await js.publish("validation.requested", FORGED)
        await js.publish("run.requested", FORGED)
    before = await kept(fresh_nats_server)
    async with (
        everybody_listening(fresh_nats_server) as heard,
        connected(fresh_nats_server, user) as me,
    ):
        for bucket in WRITES.get(user, set()):
            await me.client.jetstream().publish(f"$O.{bucket}.C.forged", FORGED)
        for target in targets:
            for call in (each.to for each in mine.calls if each.to.startswith(JETSTREAM_PREFIX)):
                body = b'{"seq": 1}' if "DIRECT" in call else b""
                await me.client.publish(call, body, reply=target)
        assert await me.refusals() == []
        await say_something_true(fresh_nats_server)
        await until(lambda: "observer heard skill.deleted" in heard, why="the true fact is heard")
        assert set(heard) == {"observer heard skill.deleted", "gateway heard skill.deleted"}
    assert await kept(fresh_nats_server) == {**before, "FACTS": before["FACTS"] + 1}


async def say_something_true(server: RunningNats) -> None:
    async with connected(server, "scorer") as scorer:
        await scorer.client.jetstream().publish("skill.deleted", b"{}")


async def test_what_a_consumer_delivers_reaches_no_question(fresh_nats_server: RunningNats) -> None:
    """Even for the one user that may make consumers: questions live where no stream is."""
    async with (
        everybody_listening(fresh_nats_server) as heard,
        connected(fresh_nats_server, "scorer") as scorer,
    ):
        js = scorer.client.jetstream(prefix=JETSTREAM_PREFIX)
        await js.publish("skill.approved", FORGED)
        for question in QUESTIONS:
            await js.add_consumer(
                "FACTS", ConsumerConfig(deliver_subject=question.SUBJECT, ack_policy=AckPolicy.NONE)
            )
        names = {info.name for info in await js.consumers_info("FACTS")}
        assert len(names) == len(QUESTIONS) + 1
        await until(lambda: len(heard) >= 2, why="the fact itself is heard")
        assert set(heard) == {"observer heard skill.approved", "gateway heard skill.approved"}
        await apply_topology(js)
        assert {info.name for info in await js.consumers_info("FACTS")} == {"observer"}


async def test_an_answer_goes_nowhere_but_to_the_askers_own_account(
    fresh_nats_server: RunningNats,
) -> None:
    before = await kept(fresh_nats_server)
    async with (
        connected(fresh_nats_server, "scorer") as scorer,
        connected(fresh_nats_server, "gateway") as gateway,
    ):
        answered = asyncio.Event()

        async def answer(message: Msg) -> None:
            await message.respond(b"yes")
            await scorer.client.flush(5)
            answered.set()

        await scorer.client.subscribe("records.get-skill", cb=answer)
        await scorer.refusals()
        await gateway.client.publish("records.get-skill", b"{}", reply="validation.completed")
        await asyncio.wait_for(answered.wait(), 5)
    assert await kept(fresh_nats_server) == before


async def test_a_subscriber_reads_on_where_it_was_and_from_wherever_it_likes(
    fresh_nats_server: RunningNats,
) -> None:
    facts = [completed() for _ in range(4)]

    async def say(fact: ValidationCompleted) -> None:
        async with connected(fresh_nats_server, "scorer") as scorer:
            js = scorer.client.jetstream()
            await js.publish(fact.subject(), fact.model_dump_json().encode())

    async def take(me: Connected, count: int) -> list[ValidationCompleted]:
        js = me.client.jetstream(prefix=JETSTREAM_PREFIX)
        subscription = await js.pull_subscribe_bind("observer", "FACTS")
        messages = await subscription.fetch(count, timeout=5)
        for message in messages:
            await message.ack_sync()
        return [ValidationCompleted.model_validate_json(each.data) for each in messages]

    async with connected(fresh_nats_server, "observer") as me:
        live = await me.client.subscribe("validation.completed")
        await me.refusals()
        await say(facts[0])
        assert (await live.next_msg(5)).data == facts[0].model_dump_json().encode()
        assert await take(me, 1) == facts[:1]
    for fact in facts[1:]:
        await say(fact)
    fresh_nats_server.kill()
    fresh_nats_server.start()
    async with connected(fresh_nats_server, "observer") as me:
        assert await take(me, 3) == facts[1:]
        await me.client.jetstream(prefix=JETSTREAM_PREFIX).reset_consumer("FACTS", "observer", 2)
        assert await take(me, 3) == facts[1:]
        stream = KeptMessages(lambda: me.client, "FACTS")
        assert await stream.sequence_before(datetime(2020, 1, 1, tzinfo=UTC)) == 0
        assert await stream.sequence_before(datetime.now(UTC)) == 4
        assert await me.refusals() == []


@pytest.mark.parametrize("credentials", ["", "scorer:wrong@", "nobody:nothing@"])
async def test_strangers_stay_outside(bus: RunningNats, credentials: str) -> None:
    address = bus.url("scorer").rpartition("@")[2]
    errors: list[Exception] = []

    async def note(error: Exception) -> None:
        errors.append(error)

    with pytest.raises(NoServersError):
        await nats.connect(
            f"nats://{credentials}{address}",
            error_cb=note,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
        )
    assert any("authorization" in str(error).lower() for error in errors)


@pytest.mark.parametrize("ending", ["stop", "kill"])
async def test_what_the_bus_took_is_there_after_a_restart(
    fresh_nats_server: RunningNats, ending: str
) -> None:
    message = completed()
    async with connected(fresh_nats_server, "scorer") as scorer:
        await scorer.client.jetstream().publish(
            message.subject(), message.model_dump_json().encode()
        )
    getattr(fresh_nats_server, ending)()
    fresh_nats_server.start()
    async with connected(fresh_nats_server, "scorer") as scorer:
        js = scorer.client.jetstream(prefix=JETSTREAM_PREFIX)
        there = await js.get_last_msg("FACTS", "validation.completed")
        assert there.data is not None
        assert ValidationCompleted.model_validate_json(there.data) == message


def test_passwords_are_private_and_new_each_time(tmp_path: Path) -> None:
    server = NatsServer(folder=tmp_path / "n", port=free_ports(1)[0], passwords=new_passwords())
    server.process(tmp_path / "log")
    config = tmp_path / "n" / "nats.conf"
    assert config.stat().st_mode & 0o777 == 0o600
    assert config.parent.stat().st_mode & 0o777 == 0o700
    assert len({server.url(user) for user in BUS_USERS}) == len(BUS_USERS)
    assert set(new_passwords().values()).isdisjoint(new_passwords().values())


async def test_the_bus_is_on_the_loopback_only(fresh_nats_server: RunningNats) -> None:
    port = int(fresh_nats_server.url("observer").rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert (await reader.read(5)) == b"INFO "
    writer.close()
    assert listening_on(port) == {f"0100007F:{port:04X}"}


def listening_on(port: int) -> set[str]:
    """The addresses, as the kernel writes them, on which somebody listens at this port."""
    return {
        line.split()[1]
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")
    }
