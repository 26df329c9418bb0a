"""What the scorer hears, and the use case that it is answered by."""

from dataclasses import dataclass

from assay_contracts.full_tests import (
    CancelFullTest,
    GetFullTest,
    ListFullTests,
    StartFullTest,
)
from assay_contracts.grades import RunGraded
from assay_contracts.reports import ReportWritten
from assay_contracts.review import (
    ApproveSkill,
    CancelValidation,
    DeleteSkill,
    ListAudit,
    RejectSkill,
    RevalidateSkill,
)
from assay_contracts.rpc import (
    GetBundle,
    GetReport,
    GetSkill,
    GetStatus,
    ListSkills,
    ListValidations,
    PingRecords,
    RegisterSkill,
)
from assay_contracts.runs import RunFinished
from assay_contracts.runtime import ListVersions, RollbackRuntime
from assay_contracts.validations import (
    CleanupFinished,
    KeepFinished,
    ValidationPlanned,
    ValidationProgressed,
)
from assay_scorer.ports.idempotency import StoredAnswers
from assay_scorer.ports.outbox import AskedWork
from assay_scorer.ports.records import Records
from assay_scorer.ports.skills import UploadRecords
from assay_scorer.ports.timing import Clock, Wake
from assay_scorer.use_cases.announcing import Announce
from assay_scorer.use_cases.asked_work import OnlyIfAskedFor
from assay_scorer.use_cases.conducting import (
    Advance,
    Conduct,
    NoteProgress,
    TakeCleanupResult,
    TakeResult,
)
from assay_scorer.use_cases.full_tests import (
    BeginFullTest,
    FindFullTest,
    FindFullTests,
    StopFullTest,
)
from assay_scorer.use_cases.idempotency import Idempotent
from assay_scorer.use_cases.questions import (
    FindBundle,
    FindReport,
    FindSkill,
    FindSkills,
    FindStatus,
    FindValidations,
    Ping,
    ReadAudit,
)
from assay_scorer.use_cases.register_upload import RegisterUpload
from assay_scorer.use_cases.review import Approve, Cancel, Delete, Reject, Revalidate
from assay_scorer.use_cases.runtime_versions import FindVersions, Rollback, TakeKeepResult
from assay_servicekit.bus import Bus


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the use cases are made of."""

    records: Records
    uploads: UploadRecords
    answers: StoredAnswers
    work: AskedWork
    clock: Clock
    announce: Announce
    advance: Advance
    conduct: Conduct
    wake_admission: Wake
    wake_test_ending: Wake
    wake_retention: Wake


def register(bus: Bus, parts: Parts) -> None:
    _results(bus, parts)
    _questions(bus, parts)
    _review(bus, parts)
    _full_tests(bus, parts)


def _results(bus: Bus, parts: Parts) -> None:
    records, clock = parts.records, parts.clock
    if_asked = OnlyIfAskedFor(work=parts.work)
    take = TakeResult(conduct=parts.conduct)
    bus.on_fact(ValidationPlanned, if_asked(take))
    bus.on_fact(RunFinished, if_asked(take))
    bus.on_fact(RunGraded, if_asked(take))
    bus.on_fact(ReportWritten, if_asked(take))
    bus.on_fact(CleanupFinished, if_asked(TakeCleanupResult(records=records, clock=clock)))
    bus.on_fact(KeepFinished, if_asked(TakeKeepResult(records=records, clock=clock)))
    bus.on_live(ValidationProgressed, NoteProgress(notes=records))


def _questions(bus: Bus, parts: Parts) -> None:
    records = parts.records
    bus.on_question(PingRecords, Ping(database=records))
    bus.on_question(ListSkills, FindSkills(skills=records))
    bus.on_question(GetSkill, FindSkill(skills=records))
    bus.on_question(GetStatus, FindStatus(skills=records))
    bus.on_question(GetBundle, FindBundle(skills=records))
    bus.on_question(GetReport, FindReport(skills=records, validations=records))
    bus.on_question(ListValidations, FindValidations(skills=records, validations=records))
    bus.on_question(ListAudit, ReadAudit(audit=records))
    bus.on_question(ListVersions, FindVersions(versions=records))
    bus.on_question(ListFullTests, FindFullTests(full_tests=records))
    bus.on_question(GetFullTest, FindFullTest(full_tests=records))


def _review(bus: Bus, parts: Parts) -> None:
    idempotent = Idempotent(answers=parts.answers)
    records, announce, clock = parts.records, parts.announce, parts.clock
    register_upload = RegisterUpload(
        uploads=parts.uploads, clock=clock, wake_admission=parts.wake_admission
    )
    approve = Approve(records=records, announce=announce, clock=clock)
    reject = Reject(records=records, announce=announce, clock=clock)
    delete = Delete(
        records=records,
        advance=parts.advance,
        announce=announce,
        clock=clock,
        wake_retention=parts.wake_retention,
    )
    revalidate = Revalidate(
        records=records, announce=announce, clock=clock, wake_admission=parts.wake_admission
    )
    cancel = Cancel(
        skills=records, records=records, advance=parts.advance, announce=announce, clock=clock
    )
    bus.on_question(RegisterSkill, idempotent(register_upload))
    bus.on_question(ApproveSkill, idempotent(approve))
    bus.on_question(RejectSkill, idempotent(reject))
    bus.on_question(DeleteSkill, idempotent(delete))
    bus.on_question(RevalidateSkill, idempotent(revalidate))
    bus.on_question(CancelValidation, idempotent(cancel))


def _full_tests(bus: Bus, parts: Parts) -> None:
    idempotent = Idempotent(answers=parts.answers)
    records, announce, clock = parts.records, parts.announce, parts.clock
    rollback = Rollback(
        records=records, announce=announce, clock=clock, wake_test_ending=parts.wake_test_ending
    )
    begin = BeginFullTest(
        full_tests=records,
        records=records,
        announce=announce,
        clock=clock,
        wake_admission=parts.wake_admission,
    )
    stop = StopFullTest(
        full_tests=records,
        records=records,
        announce=announce,
        clock=clock,
        wake_test_ending=parts.wake_test_ending,
    )
    bus.on_question(RollbackRuntime, idempotent(rollback))
    bus.on_question(StartFullTest, idempotent(begin))
    bus.on_question(CancelFullTest, idempotent(stop))
