"""Taking what happens to a validation through the conductor, and storing what it decides."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol
from uuid import UUID

from assay_contracts.base import Message
from assay_contracts.validations import CleanupFinished, ValidationProgressed
from assay_reporting.markdown import render_markdown
from assay_scorer.domain.attestation import statement_of
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Outgoing
from assay_scorer.domain.inputs import ConductorInput, WorkerResult
from assay_scorer.domain.progress import progress_of
from assay_scorer.domain.report import build_report, report_ref
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.what_changed import may_begin_layer2, results_of
from assay_scorer.domain.work import clean_up_again
from assay_scorer.ports.audit import AuditLog
from assay_scorer.ports.outbox import CleanupRequests, Outbox
from assay_scorer.ports.reports import Reports, Signer
from assay_scorer.ports.results import ResultChanges
from assay_scorer.ports.timing import Clock
from assay_scorer.ports.transactions import Transactions
from assay_scorer.ports.validations import ProgressNotes
from assay_scorer.use_cases.admission import AdmissionTransaction, AdmitQueued
from assay_scorer.use_cases.announcing import Announce
from assay_scorer.use_cases.full_test_ending import (
    FullTestEndTransaction,
    clean_up_after_deletion,
    end_part,
)

NOBODY: Final = "assay"
"""Who a skill is rejected by that failed its validation: no person decided that."""
CLEANUP_TRIES: Final = 20
FIRST_CLEANUP_PAUSE: Final = timedelta(minutes=1)
LONGEST_CLEANUP_PAUSE: Final = timedelta(hours=1)


class AdvanceTransaction(
    AdmissionTransaction, AuditLog, FullTestEndTransaction, ResultChanges, Protocol
):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepReport:
    """Stores the report on a validation that has ended, in all its forms."""

    reports: Reports
    signer: Signer | None
    """None: verdicts are not signed."""

    async def __call__(self, validation: Validation) -> None:
        report = build_report(validation)
        where = report_ref(report.skill_id, report.validation_id)
        if self.signer is not None:
            await self.reports.keep(where.attestation_key, self.signer.sign(statement_of(report)))
        await self.reports.keep(where.json_key, report.model_dump_json(indent=2).encode())
        await self.reports.keep(where.markdown_key, render_markdown(report).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Moves a validation on, within the transaction of a use case."""

    keep_report: KeepReport
    admit: AdmitQueued
    clock: Clock

    async def __call__(
        self, transaction: AdvanceTransaction, validation_id: UUID, given: ConductorInput
    ) -> tuple[Message, ...]:
        """Returns live progress, to be announced once the transaction is through.

        There is none if nothing changed.
        """
        validation = await transaction.lock_validation(validation_id)
        now = self.clock()
        if validation is None:
            await clean_up_after_deletion(transaction, validation_id, given, now)
            return ()
        if may_begin_layer2(validation):
            approved = [each.skill_id for each in validation.environment.approved]
            known = tuple(await transaction.known_results(approved))
            validation = validation.model_copy(update={"known_results": known})
        decision = decide(validation, given, now)
        after = decision.validation
        if after == validation:
            # Its skill may have moved on since: there is nothing to store.
            await transaction.add_to_outbox(decision.outgoing, now)
            return (progress_of(after),) if decision.outgoing else ()
        if after.step == "done" != validation.step:
            # The report is there before anybody is told of it.
            await self.keep_report(after)
            await transaction.keep_results(results_of(after))
            if after.skill_status == "rejected":
                await transaction.log_action(
                    "rejected",
                    NOBODY,
                    now,
                    skill=(after.skill_id, after.skill_name),
                    details={"reason": after.reason or "", "decided_by": "validation"},
                )
        await transaction.save_decision(decision, now)
        progress: list[Message] = [progress_of(after)]
        if after.step == "done":
            if after.is_full_test:
                progress.append(await end_part(transaction, after, now))
            progress += await self.admit(transaction)
        return tuple(progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """Moves a validation on in a transaction of its own."""

    records: Transactions[AdvanceTransaction]
    advance: Advance
    announce: Announce

    async def __call__(self, validation_id: UUID, given: ConductorInput) -> None:
        """Raises Unavailable; what was given is then to be tried again."""
        async with self.records.transaction() as transaction:
            progress = await self.advance(transaction, validation_id, given)
        if progress:
            await self.announce(progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeResult:
    """Takes in what a worker said about a step of a validation."""

    conduct: Conduct

    async def __call__(self, result: WorkerResult) -> None:
        await self.conduct(result.validation_id, result)


class CleanupTransaction(CleanupRequests, Outbox, Protocol):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeCleanupResult:
    """Asks again for what was not deleted: what was once kept has no time to live."""

    records: Transactions[CleanupTransaction]
    clock: Clock

    async def __call__(self, result: CleanupFinished) -> None:
        if result.failure is None or result.attempt >= CLEANUP_TRIES:
            return
        pause = min(FIRST_CLEANUP_PAUSE * 2 ** (result.attempt - 1), LONGEST_CLEANUP_PAUSE)
        async with self.records.transaction() as transaction:
            asked = await transaction.cleanup_asked(result.step_id, result.attempt)
            if asked is not None:
                again = Outgoing(clean_up_again(asked), pause)
                await transaction.add_to_outbox([again], self.clock())


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteProgress:
    notes: ProgressNotes

    async def __call__(self, progress: ValidationProgressed) -> None:
        await self.notes.note_progress(
            progress.validation_id, progress.detail, progress.tasks_done, progress.tasks_total
        )
