"""What the end of one skill means for the full test it is a part of."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from assay_contracts.full_tests import FullTestProgressed, FullTestSummary
from assay_contracts.runs import RunFinished
from assay_scorer.domain.decisions import Outgoing
from assay_scorer.domain.full_tests import completion_of, ended, outcome_of, progress_of
from assay_scorer.domain.inputs import ConductorInput
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import clean_up_after
from assay_scorer.ports.full_tests import FullTestEnd
from assay_scorer.ports.outbox import Outbox


class FullTestEndTransaction(FullTestEnd, Outbox, Protocol):
    pass


async def end_part(
    transaction: FullTestEndTransaction, validation: Validation, now: datetime
) -> FullTestProgressed:
    """Keep how the skill fared, and end the full test if it was the last one."""
    assert validation.full_test_id is not None
    before = await transaction.baseline(validation)
    await transaction.save_outcome(validation.full_test_id, outcome_of(validation, before))
    full_test = await transaction.lock_full_test(validation.full_test_id)
    assert full_test is not None
    if full_test.counts.done == full_test.counts.total:
        full_test = await end_full_test(transaction, full_test, now)
    return progress_of(full_test)


async def end_full_test(
    transaction: FullTestEndTransaction, full_test: FullTestSummary, now: datetime
) -> FullTestSummary:
    """End a full test that has no more open skills, and say so."""
    done = ended(full_test, now)
    await transaction.save_full_test(done)
    outcomes = await transaction.outcomes(done.full_test_id)
    await transaction.add_to_outbox([Outgoing(completion_of(done, outcomes))], now)
    return done


async def clean_up_after_deletion(
    transaction: FullTestEndTransaction, validation_id: UUID, given: ConductorInput, now: datetime
) -> None:
    """Delete what a run left whose skill was deleted meanwhile: nobody else knows of it."""
    if not isinstance(given, RunFinished) or given.candidate is None:
        return
    tested = await transaction.outcome(validation_id)
    if tested is not None:
        cleanup = Outgoing(clean_up_after(tested, given.candidate))
        await transaction.add_to_outbox([cleanup], now)
