"""The whole scorer on a real bus and a real database, with made-up workers around it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr
from starlette.applications import Starlette

from assay_contracts.base import Failure, Result, Work
from assay_contracts.grades import GradingRequested
from assay_contracts.reports import Report, ReportRequested
from assay_contracts.review import ApproveSkill
from assay_contracts.rpc import (
    GetReport,
    GetSkill,
    GetStatus,
    ProblemError,
    RegisterReply,
    SkillStatusView,
)
from assay_contracts.runs import RunRequested
from assay_contracts.validations import (
    CleanupRequested,
    KeepRequested,
    ValidationCompleted,
    ValidationPlanned,
    ValidationRequested,
)
from assay_scorer.app import create_app
from assay_scorer.settings import Settings
from assay_servicekit.bus import Bus
from assay_servicekit.service import asgi
from assay_servicekit.settings import ServiceSettings
from assay_testkit.scorer import an_upload, well_done
from assay_testkit.servers import RunningNats
from assay_testkit.waiting import until

PATIENCE_S = 40.0


@asynccontextmanager
async def scorer(nats: RunningNats, database_url: str) -> AsyncIterator[Starlette]:
    app = asgi(
        create_app(
            Settings(
                nats_url=SecretStr(nats.url("scorer")),
                database_url=SecretStr(database_url),
                reconcile_every_s=0.2,
            )
        )
    )
    async with app.router.lifespan_context(app):
        yield app


@asynccontextmanager
async def asker(nats: RunningNats) -> AsyncIterator[Bus]:
    bus = Bus(ServiceSettings(nats_url=SecretStr(nats.url("gateway"))), "gateway")
    await bus.connect()
    await bus.start()
    try:
        yield bus
    finally:
        await bus.stop()


@asynccontextmanager
async def workers(nats: RunningNats) -> AsyncIterator[list[Work]]:
    """A judge and a runner that always succeed, and what they were asked to do."""
    asked: list[Work] = []

    async def work_on(work: Work) -> Result:
        asked.append(work)
        return well_done(work)

    judge = Bus(ServiceSettings(nats_url=SecretStr(nats.url("judge"))), "judge")
    judge.on_work(ValidationRequested, work_on, slots=2)
    judge.on_work(GradingRequested, work_on, slots=2)
    judge.on_work(ReportRequested, work_on, slots=2)
    runner = Bus(ServiceSettings(nats_url=SecretStr(nats.url("sandbox-runner"))), "sandbox-runner")
    runner.on_work(RunRequested, work_on, slots=2)
    runner.on_work(CleanupRequested, work_on, slots=2)
    runner.on_work(KeepRequested, work_on, slots=1)
    for bus in (judge, runner):
        await bus.connect()
        await bus.start()
    try:
        yield asked
    finally:
        for bus in (judge, runner):
            await bus.stop()


async def upload(nats: RunningNats, name: str) -> RegisterReply:
    bus = Bus(ServiceSettings(nats_url=SecretStr(nats.url("ingest"))), "ingest")
    await bus.connect()
    await bus.start()
    try:
        return await bus.ask(an_upload(name))
    finally:
        await bus.stop()


async def ended(bus: Bus, reply: RegisterReply) -> SkillStatusView:
    async def status_if_done() -> SkillStatusView | None:
        try:
            status = await bus.ask(GetStatus(skill_id=reply.skill_id), timeout_s=1)
        except ProblemError as error:
            assert error.problem.code == "SERVICE_UNAVAILABLE"  # noqa: PT017  # asks on
            return None
        return status if status.step == "done" else None

    return await until(
        status_if_done, why="the validation has ended", timeout_s=PATIENCE_S, every_s=0.05
    )


async def completions(nats: RunningNats) -> list[ValidationCompleted]:
    bus = Bus(ServiceSettings(nats_url=SecretStr(nats.url("scorer"))), "scorer")
    await bus.connect()
    try:
        js = bus.jetstream()
        state = (await js.stream_info("FACTS")).state
        messages = [
            await js.get_msg("FACTS", n) for n in range(state.first_seq, state.last_seq + 1)
        ]
        return [
            ValidationCompleted.model_validate_json(message.data or b"")
            for message in messages
            if message.subject == ValidationCompleted.SUBJECT
        ]
    finally:
        await bus.stop()


async def test_an_upload_ends_in_one_completion_and_a_report(
    emptied_nats_server: RunningNats, migrated_url: str
) -> None:
    async with (
        scorer(emptied_nats_server, migrated_url),
        workers(emptied_nats_server),
        asker(emptied_nats_server) as bus,
    ):
        reply = await upload(emptied_nats_server, "csv-analyzer")
        status = await ended(bus, reply)
        assert (status.verdict, status.validation_stage) == ("passed", "completed")
        view = await bus.ask(GetReport(skill_id=reply.skill_id))
        report = Report.model_validate_json(await bus.objects.get("reports", view.report.json_key))
        assert report.scores is not None
        assert report.scores.overall == 100.0
        said = await until(
            partial(completions, emptied_nats_server),
            why="the completion was announced",
            timeout_s=PATIENCE_S,
            every_s=0.05,
        )
        assert [completed.validation_id for completed in said] == [reply.validation_id]


@pytest.mark.parametrize("when", ["before the work is taken", "after the work was taken"])
async def test_work_lost_on_the_bus_is_asked_for_again(
    emptied_nats_server: RunningNats, migrated_url: str, when: str
) -> None:
    async with (
        scorer(emptied_nats_server, migrated_url),
        asker(emptied_nats_server) as bus,
    ):
        reply = await upload(emptied_nats_server, "csv-analyzer")
        operator = Bus(
            ServiceSettings(nats_url=SecretStr(emptied_nats_server.url("scorer"))), "scorer"
        )
        await operator.connect()
        js = operator.jetstream()

        async def work_waits() -> bool:
            return (await js.stream_info("WORK")).state.messages > 0

        await until(work_waits, why="work is asked for", timeout_s=PATIENCE_S)
        if when == "after the work was taken":
            judge = Bus(
                ServiceSettings(nats_url=SecretStr(emptied_nats_server.url("judge"))), "judge"
            )
            await judge.connect()
            subscription = await judge.jetstream().pull_subscribe_bind(
                "judge-validation-requested", "WORK"
            )
            (message,) = await subscription.fetch(1, timeout=30)
            await message.ack_sync()
            await judge.stop()
        else:
            await js.purge_stream("WORK")
        await operator.stop()
        async with workers(emptied_nats_server) as asked:
            assert (await ended(bus, reply)).verdict == "passed"
        assert asked[0].attempt > 1


async def test_what_the_outbox_holds_survives_a_bus_outage(
    fresh_nats_server: RunningNats, migrated_url: str
) -> None:
    async with (
        scorer(fresh_nats_server, migrated_url),
        workers(fresh_nats_server),
        asker(fresh_nats_server) as bus,
    ):
        reply = await upload(fresh_nats_server, "csv-analyzer")
        fresh_nats_server.kill()
        fresh_nats_server.start()
        assert (await ended(bus, reply)).verdict == "passed"
    assert len(await completions(fresh_nats_server)) == 1


@pytest.mark.parametrize("work_id", [None, uuid4()], ids=["without work", "with other work"])
async def test_a_result_of_whom_the_work_did_not_go_to_changes_nothing(
    emptied_nats_server: RunningNats, migrated_url: str, work_id: UUID | None
) -> None:
    async with (
        scorer(emptied_nats_server, migrated_url),
        asker(emptied_nats_server) as bus,
    ):
        reply = await upload(emptied_nats_server, "csv-analyzer")
        forger = Bus(ServiceSettings(nats_url=SecretStr(emptied_nats_server.url("judge"))), "judge")
        await forger.connect()
        forged = ValidationPlanned(
            validation_id=reply.validation_id,
            step_id=f"{reply.validation_id}.planning",
            attempt=1,
            work_id=work_id,
            failure=Failure.of("budget", "forged"),
        )
        await forger.say(forged)
        await forger.stop()
        async with workers(emptied_nats_server) as asked:
            assert (await ended(bus, reply)).verdict == "passed"
        assert (asked[0].step_id, asked[0].attempt) == (forged.step_id, 1)


async def test_approved_skills_for_which_nothing_changed_are_not_run_again(
    emptied_nats_server: RunningNats, migrated_url: str
) -> None:
    async with (
        scorer(emptied_nats_server, migrated_url),
        workers(emptied_nats_server) as asked,
        asker(emptied_nats_server) as bus,
    ):
        for number, name in enumerate(("alpha", "beta", "gamma"), start=1):
            reply = await upload(emptied_nats_server, name)
            assert (await ended(bus, reply)).verdict == "passed"
            approved = await bus.ask(ApproveSkill(skill_id=reply.skill_id, actor="ann"))
            assert approved.runtime_version == f"v1.{number}"
            assert (await bus.ask(GetSkill(skill_id=reply.skill_id))).layer2_passed
        runs = [work.kind for work in asked if isinstance(work, RunRequested)]
        assert runs == ["online", "offline"] * 3
        await until(
            lambda: sum(isinstance(work, KeepRequested) for work in asked) >= 3,
            why="all three snapshots are to be kept",
            timeout_s=PATIENCE_S,
        )
