"""Questions about the records, answered without changing anything."""

from dataclasses import dataclass

from assay_contracts.review import AuditPage, ListAudit
from assay_contracts.rpc import (
    BundleView,
    GetBundle,
    GetReport,
    GetSkill,
    GetStatus,
    ListSkills,
    ListValidations,
    PingRecords,
    Pong,
    Problem,
    ProblemDetails,
    ProblemError,
    ReportView,
    SkillDetail,
    SkillPage,
    SkillStatusView,
    ValidationHistory,
)
from assay_scorer.domain.report import report_ref
from assay_scorer.ports.audit import AuditQueries
from assay_scorer.ports.records import DatabaseCheck
from assay_scorer.ports.skills import SkillQueries
from assay_scorer.ports.validations import ValidationQueries
from assay_scorer.use_cases.problems import known


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    database: DatabaseCheck

    async def __call__(self, _: PingRecords) -> Pong:
        """Raises Unavailable when the database does not answer."""
        await self.database.ping()
        return Pong()


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSkills:
    skills: SkillQueries

    async def __call__(self, query: ListSkills) -> SkillPage:
        return await self.skills.skills(query)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSkill:
    skills: SkillQueries

    async def __call__(self, query: GetSkill) -> SkillDetail:
        """Raises ProblemError SKILL_NOT_FOUND."""
        return known(await self.skills.skill(query.skill_id), query.skill_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindStatus:
    skills: SkillQueries

    async def __call__(self, query: GetStatus) -> SkillStatusView:
        """Raises ProblemError SKILL_NOT_FOUND."""
        return known(await self.skills.status(query.skill_id), query.skill_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindBundle:
    skills: SkillQueries

    async def __call__(self, query: GetBundle) -> BundleView:
        """Raises ProblemError SKILL_NOT_FOUND."""
        return known(await self.skills.bundle(query.skill_id), query.skill_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindValidations:
    skills: SkillQueries
    validations: ValidationQueries

    async def __call__(self, query: ListValidations) -> ValidationHistory:
        """Raises ProblemError SKILL_NOT_FOUND."""
        history = await self.validations.validations(query)
        if not history.total:
            # It may have been uploaded without being validated.
            known(await self.skills.status(query.skill_id), query.skill_id)
        return history


@dataclass(frozen=True, slots=True, kw_only=True)
class FindReport:
    skills: SkillQueries
    validations: ValidationQueries

    async def __call__(self, query: GetReport) -> ReportView:
        """Raises ProblemError SKILL_NOT_FOUND, NOT_FOUND or VALIDATION_NOT_COMPLETED."""
        ended = await self.validations.ended_validation(query.skill_id, query.validation_id)
        if ended is None:
            raise _no_report(query, known(await self.skills.status(query.skill_id), query.skill_id))
        where = report_ref(query.skill_id, ended, by_skill=query.validation_id is None)
        return ReportView(skill_id=query.skill_id, validation_id=ended, report=where)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAudit:
    audit: AuditQueries

    async def __call__(self, query: ListAudit) -> AuditPage:
        return await self.audit.audit(query)


def _no_report(query: GetReport, status: SkillStatusView) -> ProblemError:
    if query.validation_id not in {None, status.validation_id}:
        return ProblemError(
            Problem(
                code="NOT_FOUND",
                message=f"'{status.name}' has no validation {query.validation_id}. "
                "List its validations to see the ids there are.",
                details=ProblemDetails(skill_id=query.skill_id),
            )
        )
    why = (
        "it has not been validated. Validate it first."
        if status.step is None
        else f"its validation is at {status.step.replace('_', ' ')}. Ask again when it has ended."
    )
    return ProblemError(
        Problem(
            code="VALIDATION_NOT_COMPLETED",
            message=f"There is no report on '{status.name}' yet: {why}",
            details=ProblemDetails(skill_id=query.skill_id),
        )
    )
