"""Use cases of full tests: start one, look at it, end it before its time."""

from collections.abc import Callable
from dataclasses import dataclass
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
from assay_scorer.domain.full_tests import progress_of, queued
from assay_scorer.domain.inputs import Cancelled
from assay_scorer.domain.runtime import current
from assay_scorer.service import Conduct
from assay_scorer.settling import end
from assay_servicekit.telemetry import current_traceparent


@dataclass(frozen=True, slots=True, kw_only=True)
class FullTests:
    """Every method raises Unavailable when the database is down."""

    conduct: Conduct
    start_soon: Callable[[], None]
    end_soon: Callable[[], None]

    async def start(self, question: StartFullTest) -> FullTestView:
        """Raises ProblemError VALIDATION_IN_PROGRESS while another one is under way."""
        now = self.conduct.clock()
        async with self.conduct.records.transaction() as transaction:
            # No approval and no rollback from here on: one version, and the skills made with it.
            version = current(await transaction.versions())
            skills = await transaction.approved()
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
            environment = await transaction.environment()
            traceparent = current_traceparent()
            validations = [
                queued(skill, full_test.full_test_id, environment, now, traceparent)
                for skill in skills
            ]
            await transaction.queue_tests(validations, now)
            await transaction.note(
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
                full_test = await end(transaction, full_test, now)
        await self.conduct.tell((progress_of(full_test),))
        self.start_soon()
        return await self._view(full_test.full_test_id)

    async def cancel(self, question: CancelFullTest) -> FullTestView:
        """Raises ProblemError FULL_TEST_NOT_FOUND or INVALID_STATUS_TRANSITION.

        Ending each skill is left to `end_soon`: it takes as many transactions as there are skills.
        """
        now = self.conduct.clock()
        async with self.conduct.records.transaction() as transaction:
            full_test = await transaction.full_test(question.full_test_id)
            if full_test is None:
                raise ProblemError(_not_found(question.full_test_id))
            if full_test.status != "running":
                raise ProblemError(_not_running(full_test))
            cancelled = full_test.model_copy(update={"status": "cancelled"})
            await transaction.save_full_test(cancelled, cancelled_by=question.actor)
            await transaction.note(
                "full_test_cancelled",
                question.actor,
                now,
                details={"full_test_id": str(question.full_test_id)},
            )
        await self.conduct.tell((progress_of(cancelled),))
        self.end_soon()
        return await self._view(question.full_test_id)

    async def get(self, question: GetFullTest) -> FullTestView:
        """Raises ProblemError FULL_TEST_NOT_FOUND."""
        return await self._view(question.full_test_id)

    async def listed(self, question: ListFullTests) -> FullTestPage:
        return await self.conduct.records.full_tests(question)

    async def _view(self, full_test_id: UUID) -> FullTestView:
        view = await self.conduct.records.full_test(full_test_id)
        if view is None:
            raise ProblemError(_not_found(full_test_id))
        return view


@dataclass(frozen=True, slots=True, kw_only=True)
class EndAbandoned:
    """Ends what is left of cancelled full tests, and the parts of skills not approved now."""

    conduct: Conduct

    async def __call__(self) -> None:
        """Raises Unavailable."""
        for each in await self.conduct.records.abandoned():
            await self.conduct(each.validation_id, Cancelled(why=each.why))


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
