"""Reading a stream by number, and following it through whatever happens to the bus."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from uuid import uuid4

from pydantic import SecretStr

from assay_contracts.review import SkillDeleted
from assay_contracts.topology import ServiceName
from assay_servicekit.bus import Bus
from assay_servicekit.settings import ServiceSettings
from assay_servicekit.streams import Kept
from assay_testkit.servers import RunningNats
from assay_testkit.waiting import until


@asynccontextmanager
async def connected(server: RunningNats, service: ServiceName) -> AsyncIterator[Bus]:
    bus = Bus(ServiceSettings(nats_url=SecretStr(server.url(service))), service)
    await bus.connect()
    try:
        yield bus
    finally:
        await bus.stop()


async def say(scorer: Bus, count: int) -> list[str]:
    facts = [SkillDeleted(skill_id=uuid4(), skill_name="a", actor="b") for _ in range(count)]
    for fact in facts:

        async def is_said(fact: SkillDeleted = fact) -> bool:
            await scorer.say(fact)
            return True

        # It may be that the bus is being started.
        await until(is_said, why="the fact is on the bus", timeout_s=30, ignoring=Exception)
    return [str(fact.skill_id) for fact in facts]


def ids(kept: list[Kept]) -> list[str]:
    return [str(SkillDeleted.model_validate_json(each.data).skill_id) for each in kept]


async def test_what_is_kept_is_read_from_a_number_on(fresh_nats_server: RunningNats) -> None:
    async with (
        connected(fresh_nats_server, "scorer") as scorer,
        connected(fresh_nats_server, "gateway") as gateway,
    ):
        assert [each async for each in gateway.public_facts.read(0)] == []
        said = await say(scorer, 300)
        everything = [each async for each in gateway.public_facts.read(0)]
        assert ids(everything) == said
        middle = everything[149].sequence
        assert ids([each async for each in gateway.public_facts.read(middle)]) == said[150:]
        assert [each async for each in gateway.public_facts.read(everything[-1].sequence)] == []
        # The number of a stream that was lost.
        assert len([each async for each in gateway.public_facts.read(10_000)]) == 300


async def test_a_killed_bus_costs_a_follower_nothing(fresh_nats_server: RunningNats) -> None:
    async with (
        connected(fresh_nats_server, "scorer") as scorer,
        connected(fresh_nats_server, "gateway") as gateway,
        asyncio.timeout(90),
    ):
        before = await say(scorer, 3)
        started = asyncio.Event()
        heard: list[Kept] = []
        enough = asyncio.Event()

        async def follow() -> None:
            async with aclosing(gateway.public_facts.follow(started.set)) as facts:
                async for fact in facts:
                    heard.append(fact)
                    if len(heard) == 8:
                        enough.set()

        following = asyncio.create_task(follow())
        await started.wait()
        said = await say(scorer, 4)
        fresh_nats_server.kill()
        await asyncio.to_thread(fresh_nats_server.start)
        said += await say(scorer, 4)
        await enough.wait()
        following.cancel()

    assert ids(heard) == said
    assert not set(before) & set(said)
