"""Starting queued validations when there is room."""

from dataclasses import dataclass
from typing import Protocol

from assay_contracts.base import Message
from assay_scorer.domain.admission import AdmissionRules
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.inputs import Admitted
from assay_scorer.domain.progress import progress_of
from assay_scorer.ports.runtime_versions import Environments
from assay_scorer.ports.timing import Clock
from assay_scorer.ports.transactions import Transactions
from assay_scorer.ports.validations import ValidationChanges
from assay_scorer.use_cases.announcing import Announce
from assay_servicekit.telemetry import resumed


class AdmissionTransaction(ValidationChanges, Environments, Protocol):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitQueued:
    """Starts the oldest queued validations for which there is room, full tests apart."""

    clock: Clock
    rules: AdmissionRules

    async def __call__(self, transaction: AdmissionTransaction) -> tuple[Message, ...]:
        """Returns live progress, to be announced once the transaction is through."""
        now = self.clock()
        under_way = await transaction.lock_admission()
        queued = [
            *await transaction.lock_queued(self.rules.room(under_way)),
            *await transaction.lock_queued_tests(self.rules.room_in_full_test(under_way)),
        ]
        if not queued:
            return ()
        admitted = Admitted(
            token_budget=self.rules.token_budget,
            environment=await transaction.current_environment(),
            dependency_mode=self.rules.dependency_mode,
            control=self.rules.control,
            min_lift=self.rules.min_lift,
            money=self.rules.money,
            regression_mode=self.rules.regression_mode,
            repeats=self.rules.repeats,
        )
        decisions = [decide(validation, admitted, now) for validation in queued]
        for decision in decisions:
            with resumed(decision.validation.traceparent):
                await transaction.save_decision(decision, now)
        return tuple(progress_of(decision.validation) for decision in decisions)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartQueued:
    """As `AdmitQueued`, in a transaction of its own. Raises Unavailable."""

    records: Transactions[AdmissionTransaction]
    admit: AdmitQueued
    announce: Announce

    async def __call__(self) -> None:
        async with self.records.transaction() as transaction:
            progress = await self.admit(transaction)
        if progress:
            await self.announce(progress)
