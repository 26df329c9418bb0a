"""What the scorer hears: facts from workers, questions from the gateway and ingest."""

from assay_contracts.review import (
    ApproveSkill,
    CancelValidation,
    DeleteSkill,
    ListAudit,
    RejectSkill,
    RevalidateSkill,
)
from assay_contracts.rpc import (
    GetReport,
    GetSkill,
    GetStatus,
    ListSkills,
    ListValidations,
    RegisterSkill,
)
from assay_contracts.runtime import ListVersions, RollbackRuntime
from assay_contracts.topology import RECORDED
from assay_contracts.validations import KeepFinished, ValidationProgressed
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
) -> None:
    for fact in RECORDED:
        if fact is not KeepFinished:
            bus.on_fact(fact, take)
    bus.on_fact(KeepFinished, keep_versions.answered)
    bus.on_live(ValidationProgressed, note)
    bus.on_question(RegisterSkill, register)
    bus.on_question(ListSkills, answer.skills)
    bus.on_question(GetSkill, answer.skill)
    bus.on_question(GetStatus, answer.status)
    bus.on_question(GetReport, answer.report)
    bus.on_question(ListValidations, answer.validations)
    bus.on_question(ApproveSkill, review.approve)
    bus.on_question(RejectSkill, review.reject)
    bus.on_question(DeleteSkill, review.delete)
    bus.on_question(RevalidateSkill, review.revalidate)
    bus.on_question(CancelValidation, review.cancel)
    bus.on_question(ListAudit, audit)
    bus.on_question(ListVersions, runtime.versions)
    bus.on_question(RollbackRuntime, runtime.rollback)
