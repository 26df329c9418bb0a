"""The bus on a real server: what is said once is done once, and nothing hopeless goes round."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import nats
import pytest
from nats.aio.client import Client
from pydantic import SecretStr

from assay_contracts.base import Result
from assay_contracts.rpc import GetReport, GetStatus, ListSkills, Problem, ProblemError, SkillPage
from assay_contracts.topology import JETSTREAM_PREFIX, BusUser, ServiceName
from assay_contracts.validations import (
    CleanupFinished,
    CleanupRequested,
    ValidationProgressed,
)
from assay_servicekit.bus import Bus, Unavailable
from assay_servicekit.settings import ServiceSettings
from assay_testkit.servers import RunningNats
from assay_testkit.waiting import until

PATIENCE_S = 20.0


def settings(server: RunningNats, service: ServiceName, handover_s: float = 0.1) -> ServiceSettings:
    return ServiceSettings(nats_url=SecretStr(server.url(service)), handover_s=handover_s)


@asynccontextmanager
async def running(
    server: RunningNats,
    service: ServiceName,
    prepare: Callable[[Bus], None] = lambda _: None,
    handover_s: float = 0.1,
) -> AsyncIterator[Bus]:
    bus = Bus(settings(server, service, handover_s), service)
    prepare(bus)
    await bus.connect()
    await bus.start()
    try:
        yield bus
    finally:
        await bus.stop()


def cleanup(snapshot: str = "s", attempt: int = 1) -> CleanupRequested:
    validation_id = uuid4()
    return CleanupRequested(
        validation_id=validation_id,
        skill_id=uuid4(),
        skill_name="x",
        step_id=f"{validation_id}.cleanup",
        attempt=attempt,
        snapshots=(snapshot,),
    )


def finished(work: CleanupRequested) -> CleanupFinished:
    return CleanupFinished(
        validation_id=work.validation_id, step_id=work.step_id, attempt=work.attempt
    )


class Heard:
    """Collects results as the scorer would, and lets a test wait for one."""

    def __init__(self) -> None:
        self.results: asyncio.Queue[Result] = asyncio.Queue()

    def prepare(self, bus: Bus) -> None:
        async def take(result: CleanupFinished) -> None:
            await self.results.put(result)

        bus.on_fact(CleanupFinished, take)

    async def next(self) -> Result:
        return await asyncio.wait_for(self.results.get(), PATIENCE_S)


async def no_work_left(scorer: Bus) -> None:
    """A worker acknowledges right after its result is out."""
    await until_kept(scorer, "WORK", 0)


async def until_kept(bus: Bus, stream: str, messages: int) -> None:
    async def is_so() -> bool:
        return (await bus.jetstream().stream_info(stream)).state.messages == messages

    await until(is_so, why=f"{stream} keeps {messages} messages", timeout_s=PATIENCE_S)


@asynccontextmanager
async def observer(server: RunningNats, user: BusUser) -> AsyncIterator[Client]:
    client = await nats.connect(server.url(user))
    try:
        yield client
    finally:
        await client.close()


async def test_work_is_carried_out_and_its_result_heard(fresh_nats_server: RunningNats) -> None:
    heard = Heard()

    async def work_on(work: CleanupRequested) -> Result:
        return finished(work)

    async with (
        running(fresh_nats_server, "scorer", heard.prepare) as scorer,
        running(
            fresh_nats_server,
            "sandbox-runner",
            lambda bus: bus.on_work(CleanupRequested, work_on, slots=2),
        ),
    ):
        request = cleanup()
        await scorer.say(request)
        result = await heard.next()
        assert (result.step_id, result.attempt, result.failure) == (request.step_id, 1, None)
        await no_work_left(scorer)


async def test_no_more_work_is_taken_than_there_are_slots(fresh_nats_server: RunningNats) -> None:
    heard, release = Heard(), asyncio.Event()
    at_once, most = 0, 0
    two_under_way = asyncio.Event()

    async def work_on(work: CleanupRequested) -> Result:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        if at_once == 2:
            two_under_way.set()
        await release.wait()
        at_once -= 1
        return finished(work)

    async with (
        running(fresh_nats_server, "scorer", heard.prepare) as scorer,
        running(
            fresh_nats_server,
            "sandbox-runner",
            lambda bus: bus.on_work(CleanupRequested, work_on, slots=2),
        ),
    ):
        for number in range(5):
            await scorer.say(cleanup(str(number)))
        await asyncio.wait_for(two_under_way.wait(), PATIENCE_S)
        info = await scorer.jetstream().consumer_info("WORK", "sandbox-runner-cleanup-requested")
        assert info.num_ack_pending == 2
        release.set()
        for _ in range(5):
            await heard.next()
        assert most == 2


async def test_work_in_the_background_keeps_no_other_work_waiting(
    fresh_nats_server: RunningNats,
) -> None:
    heard, release = Heard(), asyncio.Event()
    under_way: asyncio.Queue[str] = asyncio.Queue()

    async def work_on(work: CleanupRequested) -> Result:
        if work.lane == "background":
            await under_way.put(work.step_id)
            await release.wait()
        return finished(work)

    async with (
        running(fresh_nats_server, "scorer", heard.prepare) as scorer,
        running(
            fresh_nats_server,
            "sandbox-runner",
            lambda bus: bus.on_work(CleanupRequested, work_on, slots=2),
        ),
    ):
        for number in range(5):
            background = cleanup(f"slow{number}").model_copy(update={"lane": "background"})
            await scorer.say(background)
        for _ in range(2):
            await asyncio.wait_for(under_way.get(), PATIENCE_S)
        fresh = cleanup("fresh")
        await scorer.say(fresh)
        assert (await heard.next()).step_id == fresh.step_id
        assert under_way.empty()
        release.set()
        for _ in range(5):
            await heard.next()


async def test_a_defect_in_a_worker_is_a_failed_result(fresh_nats_server: RunningNats) -> None:
    heard = Heard()

    async def work_on(work: CleanupRequested) -> Result:
        raise ZeroDivisionError(work.snapshots[0])

    async with (
        running(fresh_nats_server, "scorer", heard.prepare) as scorer,
        running(
            fresh_nats_server,
            "sandbox-runner",
            lambda bus: bus.on_work(CleanupRequested, work_on, slots=1),
        ),
    ):
        await scorer.say(cleanup("boom"))
        failure = (await heard.next()).failure
        assert failure is not None
        assert failure.category == "internal"
        assert failure.reason == "ZeroDivisionError: boom"


async def test_a_worker_that_is_stopped_hands_its_work_over(fresh_nats_server: RunningNats) -> None:
    heard, begun = Heard(), asyncio.Event()

    async def work_on(_: CleanupRequested) -> Result:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with running(fresh_nats_server, "scorer", heard.prepare) as scorer:
        async with running(
            fresh_nats_server,
            "sandbox-runner",
            lambda bus: bus.on_work(CleanupRequested, work_on, slots=1),
        ):
            await scorer.say(cleanup())
            await asyncio.wait_for(begun.wait(), PATIENCE_S)
        failure = (await heard.next()).failure
        assert failure is not None
        assert failure.category == "handed_over"
        await no_work_left(scorer)


async def test_work_that_outlived_two_workers_is_not_started_again(
    fresh_nats_server: RunningNats,
) -> None:
    heard, started = Heard(), 0

    async def work_on(work: CleanupRequested) -> Result:
        nonlocal started
        started += 1
        return finished(work)

    async with running(fresh_nats_server, "scorer", heard.prepare) as scorer:
        await scorer.say(cleanup())
        # Two deliveries nobody acknowledges are what two deaths look like to the bus.
        async with observer(fresh_nats_server, "sandbox-runner") as client:
            for _ in range(2):
                subscription = await client.jetstream(prefix=JETSTREAM_PREFIX).pull_subscribe_bind(
                    "sandbox-runner-cleanup-requested",
                    "WORK",
                )
                (message,) = await subscription.fetch(1, timeout=PATIENCE_S)
                await message.nak()
        async with running(
            fresh_nats_server,
            "sandbox-runner",
            lambda bus: bus.on_work(CleanupRequested, work_on, slots=1),
        ):
            failure = (await heard.next()).failure
        assert failure is not None
        assert failure.category == "worker_died"
        assert started == 0


async def test_bytes_that_do_not_parse_go_to_the_dead_letters(
    fresh_nats_server: RunningNats,
) -> None:
    heard = Heard()
    async with running(fresh_nats_server, "scorer", heard.prepare) as scorer:
        async with observer(fresh_nats_server, "sandbox-runner") as client:
            await client.jetstream(prefix=JETSTREAM_PREFIX).publish(
                "cleanup.finished", b'{"schema_version": 2}'
            )
            await client.jetstream(prefix=JETSTREAM_PREFIX).publish(
                "cleanup.finished", b"\xff not json"
            )
        good = finished(cleanup())
        async with running(fresh_nats_server, "sandbox-runner") as runner:
            await runner.say(good)
        assert (await heard.next()).step_id == good.step_id
        await until_kept(scorer, "DEAD", 2)
        letter = await scorer.jetstream().get_msg("DEAD", 1)
        assert letter.subject == "dead.cleanup.finished"
        assert letter.headers is not None
        assert "validation_id" in letter.headers["Assay-Reason"]
        info = await scorer.jetstream().consumer_info("RESULTS", "scorer-cleanup-finished")
        assert info.num_ack_pending == 0


async def test_a_fact_is_tried_again_until_what_it_needs_is_back(
    fresh_nats_server: RunningNats,
) -> None:
    tries: list[int] = []
    done = asyncio.Event()

    async def take(_: CleanupFinished) -> None:
        tries.append(len(tries))
        if len(tries) < 3:
            raise Unavailable("the database is down")
        done.set()

    async with (
        running(
            fresh_nats_server, "scorer", lambda bus: bus.on_fact(CleanupFinished, take)
        ) as scorer,
        running(fresh_nats_server, "sandbox-runner") as runner,
    ):
        await runner.say(finished(cleanup()))
        await asyncio.wait_for(done.wait(), PATIENCE_S)
        assert (await scorer.jetstream().stream_info("DEAD")).state.messages == 0


async def test_saying_a_thing_twice_is_saying_it_once(fresh_nats_server: RunningNats) -> None:
    async with running(fresh_nats_server, "scorer") as scorer:
        work = cleanup()
        await scorer.say(work)
        await scorer.say(work.model_copy(update={"message_id": uuid4()}))
        assert (await scorer.jetstream().stream_info("WORK")).state.messages == 1


async def test_questions_are_answered_refused_or_unheard(fresh_nats_server: RunningNats) -> None:
    async def skills(query: ListSkills) -> SkillPage:
        return SkillPage(skills=(), total=7, page=query.page, size=query.size)

    async def status(query: GetStatus) -> SkillPage:
        raise ProblemError(Problem(code="SKILL_NOT_FOUND", message=f"no {query.skill_id}"))

    async def report(query: GetReport) -> SkillPage:
        raise ZeroDivisionError(f"secret of {query.skill_id}")

    def prepare(bus: Bus) -> None:
        bus.on_question(ListSkills, skills)
        bus.on_question(GetStatus, status)
        bus.on_question(GetReport, report)

    async with running(fresh_nats_server, "gateway") as gateway:
        with pytest.raises(ProblemError) as unheard:
            await gateway.ask(ListSkills())
        assert unheard.value.problem.code == "SERVICE_UNAVAILABLE"
        assert "scorer" in unheard.value.problem.message
        assert unheard.value.problem.details.retry_after_s is not None
        async with running(fresh_nats_server, "scorer", prepare):
            assert (await gateway.ask(ListSkills(page=3))).model_dump() == {
                "skills": (),
                "total": 7,
                "page": 3,
                "size": 20,
            }
            with pytest.raises(ProblemError) as refused:
                await gateway.ask(GetStatus(skill_id=UUID(int=1)))
            assert refused.value.problem.code == "SKILL_NOT_FOUND"
            with pytest.raises(ProblemError) as broken:
                await gateway.ask(GetReport(skill_id=UUID(int=1)))
            assert broken.value.problem.code == "VALIDATION_ERROR"
            assert broken.value.problem.details.error_id is not None
            assert "secret" not in broken.value.problem.message


async def test_live_words_reach_whoever_listens(fresh_nats_server: RunningNats) -> None:
    heard: asyncio.Queue[ValidationProgressed] = asyncio.Queue()
    word = ValidationProgressed(
        validation_id=uuid4(), skill_id=uuid4(), step="planning", detail="reading"
    )
    async with (
        running(
            fresh_nats_server, "gateway", lambda bus: bus.on_live(ValidationProgressed, heard.put)
        ),
        running(fresh_nats_server, "judge") as judge,
    ):
        await judge.say(word)
        assert await asyncio.wait_for(heard.get(), PATIENCE_S) == word


async def test_readiness_notices_a_consumer_that_is_gone(fresh_nats_server: RunningNats) -> None:
    from assay_servicekit.bus import TopologyMissing
    from assay_servicekit.topology import apply_topology

    async with (
        running(fresh_nats_server, "scorer") as scorer,
        running(fresh_nats_server, "judge") as judge,
    ):
        await judge.check()
        await scorer.jetstream().delete_consumer("WORK", "judge-validation-requested")
        with pytest.raises(TopologyMissing):
            await judge.check()
        await apply_topology(scorer.jetstream())
        await judge.check()


async def test_readiness_notices_a_bus_that_is_gone(fresh_nats_server: RunningNats) -> None:
    async with running(fresh_nats_server, "gateway") as gateway:
        await gateway.check()
        fresh_nats_server.kill()
        await until(
            lambda: not gateway._connection().is_connected,
            why="the gateway has noticed",
            timeout_s=PATIENCE_S,
        )
        with pytest.raises(Unavailable):
            await gateway.check()
    fresh_nats_server.start()


async def test_readiness_notices_a_bucket_that_is_gone(fresh_nats_server: RunningNats) -> None:
    from assay_servicekit.bus import TopologyMissing
    from assay_servicekit.objects import ObjectStoreUnavailable

    async with (
        running(fresh_nats_server, "scorer") as scorer,
        running(fresh_nats_server, "gateway") as gateway,
    ):
        await scorer.jetstream().delete_object_store("uploads")
        with pytest.raises(TopologyMissing):
            await gateway.check()
        with pytest.raises(ObjectStoreUnavailable):
            await gateway.objects.put("uploads", "k", b"content")


async def test_objects_come_back_whole_and_leave_when_deleted(
    fresh_nats_server: RunningNats,
) -> None:
    from assay_servicekit.objects import ObjectMissing

    content = bytes(range(256)) * 4096
    async with (
        running(fresh_nats_server, "ingest") as ingest,
        running(fresh_nats_server, "judge") as judge,
    ):
        await ingest.objects.put("bundles", "k", content)
        assert await judge.objects.get("bundles", "k") == content
        await ingest.objects.delete("bundles", "k")
        await ingest.objects.delete("bundles", "k")
        with pytest.raises(ObjectMissing):
            await judge.objects.get("bundles", "k")
