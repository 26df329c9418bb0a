"""Full tests: start one, look at it, end it before its time."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID, uuid4

from assay_contracts.full_tests import (
    CancelFullTest,
    FullTestCounts,
    FullTestPage,
    FullTestSummary,
    FullTestView,
    GetFullTest,
    ListFullTests,
    StartFullTest,
)
from assay_contracts.rpc import Problem, ProblemDetails, ProblemError
from assay_scorer.domain.environment import version_label
from assay_scorer.domain.full_tests import progress_of, queued_test
from assay_scorer.domain.inputs import Cancelled
from assay_scorer.domain.runtime_versions import current
from assay_scorer.ports.audit import AuditLog
from assay_scorer.ports.full_tests import AbandonedTests, FullTestQueries, FullTestStart
from assay_scorer.ports.runtime_versions import Environments, RuntimeVersionChanges
from assay_scorer.ports.timing import Clock, Wake
from assay_scorer.ports.transactions import Transactions
from assay_scorer.use_cases.announcing import Announce
from assay_scorer.use_cases.conducting import Conduct
from assay_scorer.use_cases.full_test_ending import FullTestEndTransaction, end_full_test
from assay_servicekit.telemetry import current_traceparent


class StartTransaction(
    RuntimeVersionChanges, Environments, FullTestStart, FullTestEndTransaction, AuditLog, Protocol
):
    pass


class StopTransaction(FullTestEndTransaction, AuditLog, Protocol):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class FindFullTest:
    full_tests: FullTestQueries

    async def __call__(self, question: GetFullTest) -> FullTestView:
        """Raises ProblemError FULL_TEST_NOT_FOUND."""
        return await _found(self.full_tests, question.full_test_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindFullTests:
    full_tests: FullTestQueries

    async def __call__(self, question: ListFullTests) -> FullTestPage:
        return await self.full_tests.full_tests(question)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginFullTest:
    full_tests: FullTestQueries
    records: Transactions[StartTransaction]
    announce: Announce
    clock: Clock
    wake_admission: Wake

    async def __call__(self, question: StartFullTest) -> FullTestView:
        """Raises ProblemError VALIDATION_IN_PROGRESS while another one is under way."""
        now = self.clock()
        async with self.records.transaction() as transaction:
            # No approval and no rollback from here on: one version, and the skills made with it.
            version = current(await transaction.lock_versions())
            skills = await transaction.lock_approved_skills()
            full_test = FullTestSummary(
                full_test_id=uuid4(),
                status="running",
                started_by=question.actor,
                runtime_version=version_label(version.number),
                started_at=now,
                counts=FullTestCounts(total=len(skills)),
            )
            under_way = await transaction.open_full_test(full_test, version.number)
            if under_way is not None:
                raise ProblemError(_under_way(under_way))
            environment = await transaction.current_environment()
            trace = current_traceparent()
            validations = [
                queued_test(skill, full_test.full_test_id, environment, now, trace)
                for skill in skills
            ]
            await transaction.queue_tests(validations, now)
            await transaction.log_action(
                "full_test_started",
                question.actor,
                now,
                details={
                    "full_test_id": str(full_test.full_test_id),
                    "runtime_version": full_test.runtime_version,
                    "skills": str(len(skills)),
                },
            )
            if not skills:
                full_test = await end_full_test(transaction, full_test, now)
        await self.announce([progress_of(full_test)])
        self.wake_admission()
        return await _found(self.full_tests, full_test.full_test_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopFullTest:
    """Cancels a full test.

    Ending each skill is left to `EndAbandonedTests`: it takes as many transactions as there are
    skills.
    """

    full_tests: FullTestQueries
    records: Transactions[StopTransaction]
    announce: Announce
    clock: Clock
    wake_test_ending: Wake

    async def __call__(self, question: CancelFullTest) -> FullTestView:
        """Raises ProblemError FULL_TEST_NOT_FOUND or INVALID_STATUS_TRANSITION."""
        now = self.clock()
        async with self.records.transaction() as transaction:
            full_test = await transaction.lock_full_test(question.full_test_id)
            if full_test is None:
                raise ProblemError(_not_found(question.full_test_id))
            if full_test.status != "running":
                raise ProblemError(_not_running(full_test))
            cancelled = full_test.model_copy(update={"status": "cancelled"})
            await transaction.save_full_test(cancelled, cancelled_by=question.actor)
            await transaction.log_action(
                "full_test_cancelled",
                question.actor,
                now,
                details={"full_test_id": str(question.full_test_id)},
            )
        await self.announce([progress_of(cancelled)])
        self.wake_test_ending()
        return await _found(self.full_tests, question.full_test_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndAbandonedTests:
    """Ends what is left of cancelled full tests, and the parts of skills not approved now."""

    full_tests: AbandonedTests
    conduct: Conduct

    async def __call__(self) -> None:
        """Raises Unavailable."""
        for each in await self.full_tests.abandoned_tests():
            await self.conduct(each.validation_id, Cancelled(why=each.why))


async def _found(full_tests: FullTestQueries, full_test_id: UUID) -> FullTestView:
    view = await full_tests.full_test(full_test_id)
    if view is None:
        raise ProblemError(_not_found(full_test_id))
    return view


def _under_way(full_test_id: UUID) -> Problem:
    return Problem(
        code="VALIDATION_IN_PROGRESS",
        message=(
            f"The full test {full_test_id} is under way. Wait until it has ended, or cancel it."
        ),
        details=ProblemDetails(full_test_id=full_test_id, allowed=("cancel",)),
    )


def _not_found(full_test_id: UUID) -> Problem:
    return Problem(
        code="FULL_TEST_NOT_FOUND",
        message=(
            f"No full test has the id {full_test_id}. List the full tests to see the ids there are."
        ),
        details=ProblemDetails(full_test_id=full_test_id),
    )


def _not_running(full_test: FullTestSummary) -> Problem:
    return Problem(
        code="INVALID_STATUS_TRANSITION",
        message=(
            f"The full test {full_test.full_test_id} is {full_test.status}: it is not possible to "
            "cancel it now. Start another one when it has ended."
        ),
        details=ProblemDetails(full_test_id=full_test.full_test_id),
    )
