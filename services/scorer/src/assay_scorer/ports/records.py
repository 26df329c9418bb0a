"""All that the database does for the use cases, as the wiring hands it out.

A use case names the areas that it uses, not these.
"""

from typing import Protocol

from assay_scorer.ports.audit import AuditLog, AuditQueries
from assay_scorer.ports.full_tests import (
    AbandonedTests,
    FullTestEnd,
    FullTestQueries,
    FullTestStart,
    FullTestUnderWay,
)
from assay_scorer.ports.outbox import CleanupRequests, Outbox
from assay_scorer.ports.results import ResultChanges
from assay_scorer.ports.runtime_versions import (
    Environments,
    RuntimeVersionChanges,
    RuntimeVersionQueries,
)
from assay_scorer.ports.skills import SkillChanges, SkillQueries
from assay_scorer.ports.transactions import Transactions
from assay_scorer.ports.validations import (
    OpenValidations,
    ProgressNotes,
    ValidationChanges,
    ValidationQueries,
)


class Transaction(
    SkillChanges,
    ValidationChanges,
    RuntimeVersionChanges,
    Environments,
    FullTestStart,
    FullTestEnd,
    FullTestUnderWay,
    ResultChanges,
    AuditLog,
    Outbox,
    CleanupRequests,
    Protocol,
):
    pass


class DatabaseCheck(Protocol):
    async def ping(self) -> None: ...


class Records(
    SkillQueries,
    ValidationQueries,
    OpenValidations,
    ProgressNotes,
    RuntimeVersionQueries,
    FullTestQueries,
    AbandonedTests,
    AuditQueries,
    DatabaseCheck,
    Transactions[Transaction],
    Protocol,
):
    pass
