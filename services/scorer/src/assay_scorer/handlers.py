"""What the scorer hears: facts from workers, questions from the gateway and ingest."""

from assay_contracts.rpc import GetReport, GetSkill, GetStatus, ListSkills, RegisterSkill
from assay_contracts.topology import RECORDED
from assay_contracts.validations import ValidationProgressed
from assay_scorer.service import Answer, NoteProgress, Register, TakeResult
from assay_servicekit.bus import Bus


def register(
    bus: Bus, *, register: Register, take: TakeResult, note: NoteProgress, answer: Answer
) -> None:
    for fact in RECORDED:
        bus.on_fact(fact, take)
    bus.on_live(ValidationProgressed, note)
    bus.on_question(RegisterSkill, register)
    bus.on_question(ListSkills, answer.skills)
    bus.on_question(GetSkill, answer.skill)
    bus.on_question(GetStatus, answer.status)
    bus.on_question(GetReport, answer.report)
