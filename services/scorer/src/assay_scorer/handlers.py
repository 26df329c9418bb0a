"""What the scorer hears: facts from workers, questions from the gateway and ingest."""

from assay_contracts.full_tests import (
    CancelFullTest,
    GetFullTest,
    ListFullTests,
    StartFullTest,
)
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
from assay_contracts.runtime import ListVersions, RollbackRuntime
from assay_contracts.topology import RECORDED
from assay_contracts.validations import KeepFinished, ValidationProgressed
from assay_scorer.full_tests import FullTests
from assay_scorer.once import Once
from assay_scorer.review import ReadAudit, Review
from assay_scorer.runtime import KeepVersions, Runtime
from assay_scorer.service import Answer, NoteProgress, Register, TakeResult
from assay_servicekit.bus import Bus


def register(
    bus: Bus,
    *,
    register: Register,
    take: TakeResult,
    note: NoteProgress,
    answer: Answer,
    review: Review,
    audit: ReadAudit,
    runtime: Runtime,
    keep_versions: KeepVersions,
    full_tests: FullTests,
    once: Once,
) -> None:
    for fact in RECORDED:
        if fact is not KeepFinished:
            bus.on_fact(fact, take)
    bus.on_fact(KeepFinished, keep_versions.answered)
    bus.on_live(ValidationProgressed, note)
    bus.on_question(RegisterSkill, once(register))
    bus.on_question(PingRecords, answer.ping)
    bus.on_question(ListSkills, answer.skills)
    bus.on_question(GetSkill, answer.skill)
    bus.on_question(GetStatus, answer.status)
    bus.on_question(GetReport, answer.report)
    bus.on_question(GetBundle, answer.bundle)
    bus.on_question(ListValidations, answer.validations)
    bus.on_question(ApproveSkill, once(review.approve))
    bus.on_question(RejectSkill, once(review.reject))
    bus.on_question(DeleteSkill, once(review.delete))
    bus.on_question(RevalidateSkill, once(review.revalidate))
    bus.on_question(CancelValidation, once(review.cancel))
    bus.on_question(ListAudit, audit)
    bus.on_question(ListVersions, runtime.versions)
    bus.on_question(RollbackRuntime, once(runtime.rollback))
    bus.on_question(StartFullTest, once(full_tests.start))
    bus.on_question(GetFullTest, full_tests.get)
    bus.on_question(ListFullTests, full_tests.listed)
    bus.on_question(CancelFullTest, once(full_tests.cancel))
