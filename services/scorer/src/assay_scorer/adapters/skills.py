"""Skills in PostgreSQL."""

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import Row, bindparam, delete, func, select, update

from assay_contracts.rpc import (
    BundleView,
    ListSkills,
    SkillDetail,
    SkillPage,
    SkillStatusView,
    SkillSummary,
)
from assay_contracts.skills import SkillStatus
from assay_scorer.adapters.database import Repository, TransactionPart
from assay_scorer.adapters.environments import STORED
from assay_scorer.adapters.full_test_queries import last_full_test
from assay_scorer.adapters.skill_statements import SKILL, STATUS, listing, pattern_of
from assay_scorer.adapters.tables import ResultRow, RevisionRow, SkillRow, ValidationRow, table_of
from assay_scorer.domain.progress import fraction_done
from assay_scorer.domain.review import SkillUnderReview
from assay_scorer.domain.revisions import Revision
from assay_scorer.domain.runtime_versions import PlacedSkill

_SKILLS: Final = table_of(SkillRow)
_SET_STATUS: Final = (
    update(_SKILLS)
    .where(_SKILLS.c.id == bindparam("skill_id"), _SKILLS.c.status != bindparam("new_status"))
    .values(status=bindparam("new_status"))
)
REVISION: Final = (
    RevisionRow.skill_id,
    SkillRow.name.label("skill_name"),
    RevisionRow.number,
    RevisionRow.bundle,
    RevisionRow.manifest,
    RevisionRow.findings,
)
"""The columns of a `Revision`."""
NEWEST_REVISION: Final = (
    select(func.max(RevisionRow.number))
    .where(RevisionRow.skill_id == SkillRow.id)
    .correlate(SkillRow)
    .scalar_subquery()
)


class PostgresSkillQueries(Repository):
    """Implements `ports.skills.SkillQueries`."""

    async def skills(self, query: ListSkills) -> SkillPage:
        statements = listing(
            by_status=query.status is not None,
            by_stage=query.validation_stage is not None,
            by_part=bool(query.q),
        )
        wanted = {
            **({"status": query.status} if query.status else {}),
            **({"stage": query.validation_stage} if query.validation_stage else {}),
            **({"part": pattern_of(query.q.lower())} if query.q else {}),
        }
        place = {"offset": (query.page - 1) * query.size, "size": query.size}
        async with self._reading() as connection:
            total = await connection.scalar(statements.count, wanted)
            rows = (await connection.execute(statements.page, {**wanted, **place})).all()
        return SkillPage(
            skills=tuple(SkillSummary(**_summary(row)) for row in rows),
            total=total or 0,
            page=query.page,
            size=query.size,
        )

    async def skill(self, skill_id: UUID) -> SkillDetail | None:
        async with self._reading() as connection:
            row = (await connection.execute(SKILL, {"skill_id": skill_id})).one_or_none()
            tested = await last_full_test(connection, skill_id)
        if row is None:
            return None
        return SkillDetail.model_validate(
            {
                **_summary(row),
                "revision": row.number,
                "bundle_sha256": row.bundle["sha256"],
                "uploaded_by": row.uploaded_by,
                "manifest": row.manifest,
                "findings": row.findings,
                "validation_id": row.validation_id,
                "verdict": row.verdict,
                "reason": row.reason,
                "scores": row.scores,
                **tested,
            }
        )

    async def status(self, skill_id: UUID) -> SkillStatusView | None:
        async with self._reading() as connection:
            row = (await connection.execute(STATUS, {"skill_id": skill_id})).one_or_none()
        if row is None:
            return None
        return SkillStatusView.model_validate(
            {
                "skill_id": row.id,
                "name": row.name,
                "status": row.status,
                "validation_id": row.validation_id,
                "validation_stage": row.stage,
                "step": row.step,
                "detail": row.detail or "",
                "progress": fraction_done(row.step, row.tasks_done or 0, row.tasks_total or 0),
                "tasks_done": row.tasks_done or 0,
                "tasks_total": row.tasks_total or 0,
                "scores": row.scores,
                "verdict": row.verdict,
                "reason": row.reason,
                "started_at": row.started_at,
                "completed_at": row.completed_at,
            }
        )

    async def bundle(self, skill_id: UUID) -> BundleView | None:
        statement = (
            select(
                SkillRow.id.label("skill_id"),
                SkillRow.name.label("skill_name"),
                RevisionRow.number.label("revision"),
                RevisionRow.bundle,
            )
            .join(RevisionRow, RevisionRow.skill_id == SkillRow.id)
            .where(SkillRow.id == skill_id)
            .order_by(RevisionRow.number.desc())
            .limit(1)
        )
        async with self._reading() as connection:
            row = (await connection.execute(statement)).one_or_none()
        return None if row is None else BundleView.model_validate(row, from_attributes=True)


class PostgresSkillChanges(TransactionPart):
    """Implements `ports.skills.SkillChanges`.

    A skill is locked without its validations: one that has ended changes no more, and one that has
    not allows nothing here.
    """

    async def lock_skill(self, skill_id: UUID) -> SkillUnderReview | None:
        held = select(SkillRow.status).where(SkillRow.id == skill_id).with_for_update()
        status = await self._connection.scalar(held)
        if status is None:
            return None
        # By a statement of its own: it sees what others did until they let go.
        newest = (
            select(*REVISION)
            .join(SkillRow, SkillRow.id == RevisionRow.skill_id)
            .where(RevisionRow.skill_id == skill_id)
            .order_by(RevisionRow.number.desc())
            .limit(1)
        )
        row = (await self._connection.execute(newest)).one()
        revision = Revision.model_validate(row, from_attributes=True)
        validation = await self._environments.one(
            self._connection,
            STORED.where(
                ValidationRow.skill_id == skill_id,
                ValidationRow.revision == revision.number,
                ValidationRow.kind != "full_test",
            )
            .order_by(ValidationRow.queued_at.desc())
            .limit(1),
        )
        return SkillUnderReview(status=status, revision=revision, validation=validation)

    async def lock_placed_skills(self) -> Sequence[PlacedSkill]:
        statement = (
            select(
                SkillRow.id.label("skill_id"),
                SkillRow.name,
                SkillRow.status,
                NEWEST_REVISION.label("revision"),
            )
            .where(SkillRow.status.in_(("approved", "rollback_pending")))
            .order_by(SkillRow.name)
            .with_for_update(of=SkillRow)
        )
        rows = (await self._connection.execute(statement)).all()
        return [PlacedSkill.model_validate(row, from_attributes=True) for row in rows]

    async def set_status(self, skill_id: UUID, status: SkillStatus) -> None:
        await self._connection.execute(_SET_STATUS, {"skill_id": skill_id, "new_status": status})

    async def set_statuses(self, skills: Collection[UUID], status: SkillStatus) -> None:
        await self._connection.execute(
            update(SkillRow).where(SkillRow.id.in_(skills)).values(status=status)
        )

    async def delete_skill(self, skill_id: UUID) -> None:
        for table in (ResultRow, ValidationRow, RevisionRow):
            await self._connection.execute(delete(table).where(table.skill_id == skill_id))
        await self._connection.execute(delete(SkillRow).where(SkillRow.id == skill_id))


def _summary(row: Row[*tuple[object, ...]]) -> dict[str, object]:
    return {
        "skill_id": row.id,
        "name": row.name,
        "description": row.description,
        "status": row.status,
        "validation_stage": row.stage,
        "validation_score": row.overall,
        "layer1_passed": row.layer1_passed,
        "layer2_passed": row.layer2_passed,
        "created_at": row.created_at,
        "validated_at": row.completed_at,
    }
