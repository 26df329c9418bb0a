"""Two hundred approved skills: an environment is stored once, and no message grows too long."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from alembic import command
from sqlalchemy import Connection, func, select, table, text
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Work
from assay_contracts.grades import Evidence, Grade, GradingRequested, RunGraded
from assay_contracts.reports import ReportRequested
from assay_contracts.runs import Package, RunFinished
from assay_contracts.skills import Dependencies
from assay_contracts.tasks import Task, TaskFile
from assay_contracts.validations import ValidationPlanned
from assay_scorer.adapters.database import open_engine
from assay_scorer.adapters.environments import from_document, remove_unused
from assay_scorer.adapters.migrate import alembic_config
from assay_scorer.adapters.records import PostgresRecords
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.environment import Environment
from assay_scorer.domain.inputs import Admitted, ConductorInput
from assay_scorer.domain.report import build_report
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work, work_for
from assay_testkit.scorer import NOW, a_validation, an_environment, an_upload, started, well_done
from assay_testkit.scorer_on_database import Scorer

BUS_TAKES = 1024 * 1024
NAMES = [f"skill-{n:03d}-{'x' * 50}" for n in range(200)]


def large_environment() -> Environment:
    """Each skill with tasks as long as a planner may write them, all using one package."""
    environment = an_environment(*NAMES)
    tasks = tuple(
        Task(
            task_id=f"t{n}",
            prompt="写" * 2000,
            files=(TaskFile(path="in.csv", content="a,b\n" * 500),),
            success_criterion="Done.",
        )
        for n in (1, 2, 3)
    )
    approved = (
        each.model_copy(update={"tasks": tasks, "dependencies": Dependencies(pip=("left-pad",))})
        for each in environment.approved
    )
    return environment.model_copy(update={"approved": tuple(approved)})


def answered(validation: Validation, work: Work) -> Decision:
    """Layer 1 goes well but changes a package; in layer 2 every task fails, at length."""
    result = well_done(work)
    match result:
        case RunFinished() if result.candidate:
            result = result.model_copy(
                update={
                    "packages_before": (Package(ecosystem="pip", name="left-pad", version="1.0"),),
                    "packages_after": (Package(ecosystem="pip", name="left-pad", version="2.0"),),
                }
            )
        case RunGraded() if ".regression_grading." in work.step_id:
            grades = tuple(
                Grade(
                    task_id=grade.task_id,
                    grade=1,
                    reasons="坏" * 4000,
                    evidence=(Evidence(quote="坏" * 1000, source="answer"),),
                )
                for grade in result.grades
            )
            result = result.model_copy(update={"grades": grades})
    assert isinstance(result, ConductorInput)
    return decide(validation, result, NOW)


def all_broken() -> Validation:
    validation = decide(a_validation(), Admitted(environment=large_environment()), NOW).validation
    while validation.step != "reporting":
        validation = answered(validation, work_for(validation, validation.pieces[0])).validation
    return validation


def test_a_report_on_two_hundred_broken_skills_fits_into_a_message() -> None:
    validation = all_broken()
    assert len(build_report(validation).model_dump_json().encode()) > BUS_TAKES
    (work,) = open_work(validation)
    assert isinstance(work, ReportRequested)
    assert len(work.model_dump_json().encode()) < BUS_TAKES
    assert len(work.report.regressions) >= 50
    assert not any(each.passed for each in work.report.regressions)
    ended = answered(validation, work)
    for outgoing in ended.outgoing:
        assert len(outgoing.message.model_dump_json().encode()) < 100_000
    assert ended.validation.reason is not None
    assert NAMES[9] in ended.validation.reason
    assert NAMES[10] not in ended.validation.reason
    assert "and 190 more" in ended.validation.reason


def test_a_grading_of_the_longest_tasks_fits_into_a_message() -> None:
    validation = decide(a_validation(), Admitted(), NOW).validation
    planned = well_done(open_work(validation)[0])
    assert isinstance(planned, ValidationPlanned)
    long = tuple(
        Task(
            task_id=f"t{n}",
            prompt="写" * 8000,
            files=(TaskFile(path="in.csv", content="写" * 85_000),),
            success_criterion="写" * 2000,
        )
        for n in (1, 2, 3, 4, 5)
    )
    planned = planned.model_copy(update={"tasks": long})
    validation = decide(validation, planned, NOW).validation
    (run,) = open_work(validation)
    (grading,) = open_work(answered(validation, run).validation)
    assert isinstance(grading, GradingRequested)
    assert [task.task_id for task in grading.tasks] == ["t1", "t2", "t3", "t4", "t5"]
    assert len(grading.model_dump_json().encode()) < BUS_TAKES


async def count(engine: AsyncEngine, name: str) -> int:
    async with engine.connect() as connection:
        return await connection.scalar(select(func.count()).select_from(table(name))) or 0


async def stored(engine: AsyncEngine, name: str, environment: Environment) -> Validation:
    """A new validation that starts from this environment."""
    records = PostgresRecords(engine)
    reply = await Scorer(engine).ask(an_upload(name))
    async with records.transaction() as transaction:
        queued = await transaction.lock_validation(started(reply))
        assert queued is not None
        decision = decide(queued, Admitted(environment=environment), NOW)
        await transaction.save_decision(decision, NOW)
    return decision.validation


async def test_an_environment_is_stored_once_and_read_with_every_validation(
    engine: AsyncEngine,
) -> None:
    environment = large_environment()
    again = Environment.model_validate_json(environment.model_dump_json())
    one = await stored(engine, "one", environment)
    other = await stored(engine, "other", again)
    await stored(engine, "bare", Environment())
    assert await count(engine, "environments") == 1
    records = PostgresRecords(engine)
    for validation in (one, other):
        async with records.transaction() as transaction:
            assert await transaction.lock_validation(validation.validation_id) == validation
    async with engine.connect() as connection:
        longest = await connection.scalar(
            text("select max(length(document::text)) from validations")
        )
    assert longest is not None
    assert longest < 10_000


async def test_layer_2_is_stored_without_the_skills_it_is_about(engine: AsyncEngine) -> None:
    records = PostgresRecords(engine)
    validation = await stored(engine, "one", an_environment("alpha", "beta"))
    while validation.step != "done":
        async with records.transaction() as transaction:
            held = await transaction.lock_validation(validation.validation_id)
            assert held == validation
            decision = answered(validation, open_work(validation)[0])
            await transaction.save_decision(decision, NOW)
        validation = decision.validation
    async with engine.connect() as connection:
        document = await connection.scalar(text("select document from validations"))
    assert [each["skill"] for each in document["regressions"]] == ["alpha", "beta"]
    async with records.transaction() as transaction:
        held = await transaction.lock_validation(validation.validation_id)
    assert held is not None
    assert build_report(held) == build_report(validation)


async def test_an_environment_that_nobody_refers_to_is_removed_but_not_a_new_one(
    engine: AsyncEngine,
) -> None:
    used = await stored(engine, "used", an_environment("alpha"))
    unused = await stored(engine, "unused", an_environment("beta"))
    hour = timedelta(hours=1)
    async with engine.begin() as connection:
        await connection.execute(
            text("delete from validations where id = :id"), {"id": unused.validation_id}
        )
        assert await remove_unused(connection, NOW - hour) == 0
        assert await remove_unused(connection, NOW + hour) == 1
    async with PostgresRecords(engine).transaction() as transaction:
        assert await transaction.lock_validation(used.validation_id) == used


async def test_a_validation_may_start_while_its_environment_is_being_removed(
    engine: AsyncEngine,
) -> None:
    environment = an_environment("alpha")
    first = await stored(engine, "first", environment)
    async with engine.begin() as connection:
        await connection.execute(
            text("delete from validations where id = :id"), {"id": first.validation_id}
        )
    records = PostgresRecords(engine)
    reply = await Scorer(engine).ask(an_upload("second"))
    now = datetime.now(UTC)
    async with records.transaction() as transaction:
        queued = await transaction.lock_validation(started(reply))
        assert queued is not None
        await transaction.save_decision(decide(queued, Admitted(environment=environment), now), now)
        async with engine.begin() as sweeping:
            await sweeping.execute(text("set local lock_timeout = '200ms'"))
            with pytest.raises(Exception, match="lock timeout"):
                await remove_unused(sweeping, now)
    async with engine.begin() as connection:
        assert await remove_unused(connection, now) == 0
    assert await count(engine, "environments") == 1


async def test_the_migration_moves_environments_out_of_documents_and_back(
    database_url: str,
) -> None:
    environment = an_environment("alpha", "beta")
    validations = [a_validation(f"skill-{n}") for n in range(3)]
    started = [
        decide(validations[0], Admitted(environment=environment), NOW).validation,
        decide(validations[1], Admitted(environment=environment), NOW).validation,
        validations[2],
    ]
    while started[0].step != "done":
        started[0] = answered(started[0], open_work(started[0])[0]).validation
    before = {str(each.validation_id): _document_of_0002(each) for each in started}

    def documents(connection: Connection) -> dict[str, object]:
        rows = connection.execute(text("select id::text, document from validations"))
        return {row.id: row.document for row in rows}

    def up_and_down(connection: Connection) -> tuple[list[Validation], dict[str, object]]:
        config = alembic_config(connection)
        command.upgrade(config, "0002")
        for each in started:
            _insert_as_0002(connection, each)
        command.upgrade(config, "0003")
        environments = {
            row.id: Environment.model_validate(row.document)
            for row in connection.execute(text("select id, document from environments"))
        }
        assert list(environments.values()) == [environment]
        moved = [
            from_document(row.document, environments.get(row.environment_id, Environment()))
            for row in connection.execute(text("select document, environment_id from validations"))
        ]
        command.downgrade(config, "0002")
        return moved, documents(connection)

    engine = open_engine(database_url)
    async with engine.begin() as connection:
        moved, down = await connection.run_sync(up_and_down)
    await engine.dispose()
    assert {each.validation_id: each for each in moved} == {
        each.validation_id: each for each in started
    }
    assert down == before


def _document_of_0002(validation: Validation) -> dict[str, Any]:
    """As it was stored then, before an environment could leave skills out."""
    document: dict[str, Any] = validation.model_dump(mode="json")
    del document["environment"]["without"]
    return document


def _insert_as_0002(connection: Connection, validation: Validation) -> None:
    skill = {"skill": validation.skill_id, "name": validation.skill_name, "upload": uuid4()}
    connection.execute(
        text("insert into skills values (:skill, :name, :status, now())"),
        {**skill, "status": validation.skill_status},
    )
    connection.execute(
        text("insert into revisions values (:skill, 1, :upload, 'ann', '{}', '{}', '[]', now())"),
        skill,
    )
    connection.execute(
        text(
            "insert into validations (id, skill_id, revision, kind, step, stage, verdict,"
            " queued_at, started_at, detail, tasks_done, tasks_total, document)"
            " values (:id, :skill, 1, 'initial', :step, :stage, :verdict, now(), :started_at,"
            " '', 0, 0, cast(:document as jsonb))"
        ),
        {
            "id": validation.validation_id,
            "skill": validation.skill_id,
            "step": validation.step,
            "stage": validation.stage,
            "verdict": validation.verdict,
            "started_at": validation.started_at,
            "document": json.dumps(_document_of_0002(validation)),
        },
    )
