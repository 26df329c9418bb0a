"""The embedded bus keeps what it was told, and lets each user do its own work and no other."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import nats
import pytest
from nats.aio.client import Client
from nats.errors import NoServersError
from nats.js.api import ConsumerConfig
from nats.js.errors import APIError

from assay_cli.embedded.nats import BUS_USERS, SERVICES, BusUser, NatsServer, new_passwords
from assay_cli.embedded.ports import free_ports
from assay_contracts.base import Message, Work
from assay_contracts.topology import FACTS, GRANTS, LANES, WORK_MESSAGES, ServiceName
from assay_contracts.validations import (
    ReportRef,
    ValidationCompleted,
    ValidationProgressed,
    ValidationTimings,
)
from assay_testkit.servers import RunningNats, running_nats

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
    inbox = "_INBOX" if user == "observer" else f"_IN.{user}"
    holder.client = await nats.connect(
        server.url(user), inbox_prefix=inbox, error_cb=holder.on_error, allow_reconnect=False
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


@pytest.mark.parametrize("service", SERVICES)
async def test_a_service_cannot_listen_in(bus: RunningNats, service: ServiceName) -> None:
    neighbour = next(other for other in SERVICES if other != service)
    eavesdrops = (">", "_INBOX.>", f"_IN.{neighbour}.>", "validation.completed")
    async with connected(bus, service) as me:
        for subject in eavesdrops:
            await me.client.subscribe(subject)
        assert len(await me.refusals()) == len(eavesdrops)


@pytest.mark.parametrize("service", [name for name in SERVICES if name != "scorer"])
async def test_only_the_scorer_shapes_the_bus(bus: RunningNats, service: ServiceName) -> None:
    subjects = ("$JS.API.STREAM.DELETE.FACTS", "$JS.API.STREAM.PURGE.WORK")
    async with connected(bus, service) as me:
        for subject in subjects:
            await me.client.publish(subject, b"")
        assert len(await me.refusals()) == len(subjects)


async def test_the_observer_hears_public_facts_live_and_later(
    fresh_nats_server: RunningNats,
) -> None:
    message = completed()
    async with (
        connected(fresh_nats_server, "observer") as me,
        connected(fresh_nats_server, "scorer") as scorer,
    ):
        live = await me.client.subscribe("validation.completed")
        await me.client.flush()
        await scorer.client.jetstream().publish(
            message.subject(), message.model_dump_json().encode()
        )
        heard = await live.next_msg(5)
        assert ValidationCompleted.model_validate_json(heard.data) == message

        later = me.client.jetstream()
        await later.add_consumer(
            "FACTS",
            ConsumerConfig(name="observer", filter_subject="validation.completed"),
        )
        subscription = await later.pull_subscribe_bind("observer", "FACTS")
        (kept, *_) = await subscription.fetch(1, timeout=30)
        assert ValidationCompleted.model_validate_json(kept.data) == message
        await kept.ack_sync()
        assert await me.refusals() == []


async def test_the_observer_says_nothing_and_hears_nothing_private(
    bus: RunningNats,
) -> None:
    subjects = subjects_of(EVERY_MESSAGE)
    async with connected(bus, "observer") as me:
        for subject in subjects:
            await me.client.publish(subject, b"forged")
        assert len(await me.refusals()) == len(subjects)
        for subject in (">", "run.finished", "_IN.>"):
            await me.client.subscribe(subject)
        assert len(await me.refusals()) == len(subjects) + 3
        with pytest.raises((APIError, TimeoutError)):
            await me.client.jetstream(timeout=0.5).add_consumer(
                "FACTS", ConsumerConfig(name="observer", filter_subject="run.finished")
            )


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
        kept = await scorer.client.jetstream().get_last_msg("FACTS", "validation.completed")
        assert kept.data is not None
        assert ValidationCompleted.model_validate_json(kept.data) == message


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
