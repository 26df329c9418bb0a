"""Questions on a real server: each is answered, in its trace, or whoever asked is told why not."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from prometheus_client import REGISTRY
from pydantic import SecretStr
from structlog.testing import capture_logs

from assay_contracts.rpc import ListSkills, ProblemError, SkillPage, SkillSummary
from assay_contracts.topology import ServiceName
from assay_servicekit.bus import Bus
from assay_servicekit.questions import WORKERS
from assay_servicekit.settings import ServiceSettings
from assay_testkit.servers import RunningNats

PATIENCE_S = 20.0


@asynccontextmanager
async def running(
    server: RunningNats,
    service: ServiceName,
    prepare: Callable[[Bus], None] = lambda _: None,
) -> AsyncIterator[Bus]:
    url = SecretStr(server.url(service))
    bus = Bus(ServiceSettings(nats_url=url, handover_s=PATIENCE_S), service)
    prepare(bus)
    await bus.connect()
    await bus.start()
    try:
        yield bus
    finally:
        await bus.stop()


def page(query: ListSkills) -> SkillPage:
    return SkillPage(skills=(), total=0, page=query.page, size=query.size)


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch) -> Iterator[trace.Tracer]:
    provider = TracerProvider()
    monkeypatch.setattr("assay_servicekit.questions.tracer", provider.get_tracer("test"))
    yield provider.get_tracer("test")
    provider.shutdown()


async def test_an_answer_is_given_in_the_trace_of_its_question(
    fresh_nats_server: RunningNats, tracer: trace.Tracer
) -> None:
    seen: list[int] = []

    async def skills(query: ListSkills) -> SkillPage:
        seen.append(trace.get_current_span().get_span_context().trace_id)
        return page(query)

    async with (
        running(fresh_nats_server, "scorer", lambda bus: bus.on_question(ListSkills, skills)),
        running(fresh_nats_server, "gateway") as gateway,
    ):
        asked: list[int] = []
        for _ in range(2):
            with tracer.start_as_current_span("request") as span:
                asked.append(span.get_span_context().trace_id)
                await gateway.ask(ListSkills())
    assert seen == asked
    assert len(set(asked)) == 2


async def test_answers_under_way_are_bounded_and_all_given_in_the_end(
    fresh_nats_server: RunningNats,
) -> None:
    release, full = asyncio.Event(), asyncio.Event()
    at_once, most = 0, 0

    async def skills(query: ListSkills) -> SkillPage:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        if at_once == WORKERS:
            full.set()
        await release.wait()
        at_once -= 1
        return page(query)

    async with (
        running(fresh_nats_server, "scorer", lambda bus: bus.on_question(ListSkills, skills)),
        running(fresh_nats_server, "gateway") as gateway,
    ):
        asked = [
            asyncio.create_task(gateway.ask(ListSkills(page=n + 1), timeout_s=PATIENCE_S))
            for n in range(2 * WORKERS)
        ]
        await asyncio.wait_for(full.wait(), PATIENCE_S)
        release.set()
        assert [(await answer).page for answer in asked] == list(range(1, 2 * WORKERS + 1))
    assert most == WORKERS


async def test_who_stops_answers_what_it_has_in_hand(fresh_nats_server: RunningNats) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def skills(query: ListSkills) -> SkillPage:
        begun.set()
        await release.wait()
        return page(query)

    async with running(fresh_nats_server, "gateway") as gateway:
        async with running(
            fresh_nats_server, "scorer", lambda bus: bus.on_question(ListSkills, skills)
        ):
            answer = asyncio.create_task(gateway.ask(ListSkills(page=7), timeout_s=PATIENCE_S))
            await asyncio.wait_for(begun.wait(), PATIENCE_S)
            releasing = asyncio.create_task(release_once_unheard(gateway, release))
        assert (await answer).page == 7
        await releasing


async def release_once_unheard(gateway: Bus, release: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await is_heard(gateway):
            pass
    release.set()


async def is_heard(gateway: Bus) -> bool:
    try:
        await gateway.ask(ListSkills(page=8), timeout_s=0.2)
    except ProblemError as error:
        return "is not running" not in error.problem.message
    return True


async def test_an_answer_too_large_for_a_message_is_a_defect_that_is_told_and_logged(
    fresh_nats_server: RunningNats,
) -> None:
    async def skills(query: ListSkills) -> SkillPage:
        long = SkillSummary(
            skill_id=uuid4(),
            name="long",
            description="x" * 2 * 1024 * 1024,
            status="pending",
            validation_stage=None,
            validation_score=None,
            layer1_passed=None,
            layer2_passed=None,
            created_at=datetime.now(UTC),
            validated_at=None,
        )
        return page(query).model_copy(update={"skills": (long,)})

    async with (
        running(fresh_nats_server, "scorer", lambda bus: bus.on_question(ListSkills, skills)),
        running(fresh_nats_server, "gateway") as gateway,
    ):
        with capture_logs() as logs, pytest.raises(ProblemError) as told:
            await gateway.ask(ListSkills(), timeout_s=PATIENCE_S)
    error_id = told.value.problem.details.error_id
    assert error_id is not None
    assert [line["error_id"] for line in logs if line["event"] == "question_failed"] == [error_id]


async def test_questions_are_counted_where_they_are_asked_and_answered(
    fresh_nats_server: RunningNats,
) -> None:
    def counts() -> list[float]:
        labels = {"subject": ListSkills.SUBJECT, "outcome": "answered"}
        return [
            REGISTRY.get_sample_value(f"assay_question_{side}_seconds_count", labels) or 0
            for side in ("asked", "answered")
        ]

    async def skills(query: ListSkills) -> SkillPage:
        return page(query)

    before = counts()
    async with (
        running(fresh_nats_server, "gateway") as gateway,
        running(fresh_nats_server, "scorer", lambda bus: bus.on_question(ListSkills, skills)),
    ):
        await gateway.ask(ListSkills())
    assert [now - then for now, then in zip(counts(), before, strict=True)] == [1, 1]
