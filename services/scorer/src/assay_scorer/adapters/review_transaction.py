"""What review and runtime versions need of a unit of work in PostgreSQL."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Row, Select, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.orm import aliased, join, outerjoin

from assay_contracts.review import AuditAction
from assay_contracts.skills import SkillManifest, SkillStatus
from assay_scorer.adapters.environments import STORED, Environments
from assay_scorer.adapters.tables import AuditRow, RevisionRow, SkillRow, ValidationRow, VersionRow
from assay_scorer.domain.environment import ApprovedSkill, Environment
from assay_scorer.domain.review import Standing
from assay_scorer.domain.runtime import Made, Version
from assay_scorer.domain.time_limits import time_limit
from assay_scorer.domain.validation import Validation

RUNTIME_LOCK = 0x455C
"""Key of the advisory lock that makes changes of the current version one at a time."""

_VERSIONS = VersionRow.__table__
_REVISIONS = RevisionRow.__table__


def _current_with_approved() -> Select[*tuple[Any, ...]]:
    """The current version, beside each approved skill.

    One statement, so that both are of one moment: an approval changes them together.
    """
    other = aliased(VersionRow)
    approval = (
        select(other.validation_id)
        .where(other.skill_id == SkillRow.id)
        .order_by(other.number.desc())
        .limit(1)
        .correlate(SkillRow)
        .scalar_subquery()
    )
    document = ValidationRow.document
    skills = join(SkillRow, ValidationRow, ValidationRow.id == approval)
    return (
        select(
            VersionRow.number,
            VersionRow.snapshot,
            SkillRow.id,
            SkillRow.name,
            document["bundle"].label("bundle"),
            document["manifest"].label("manifest"),
            document["tasks"].label("tasks"),
            document["offline_graded"]["grades"].label("grades"),
        )
        .select_from(outerjoin(VersionRow, skills, SkillRow.status == "approved"))
        .where(VersionRow.current)
        .order_by(SkillRow.name)
    )


_CURRENT = _current_with_approved()


class ReviewTransaction:
    """The part of `ports.Transaction` that is about review and runtime versions.

    A skill is locked without its validations: one that has ended changes no more, and one that has
    not allows nothing here. Whoever locks the versions does so before any skill.
    """

    def __init__(self, connection: AsyncConnection, environments: Environments) -> None:
        self._connection = connection
        self._environments = environments

    async def standing(self, skill_id: UUID) -> Standing | None:
        row = (
            await self._connection.execute(
                select(SkillRow.id, SkillRow.name, SkillRow.status)
                .where(SkillRow.id == skill_id)
                .with_for_update()
            )
        ).one_or_none()
        if row is None:
            return None
        revision = (
            await self._connection.execute(
                select(*_REVISIONS.c)
                .where(RevisionRow.skill_id == skill_id)
                .order_by(RevisionRow.number.desc())
                .limit(1)
            )
        ).one()
        newest = await self._environments.one(
            self._connection,
            STORED.where(
                ValidationRow.skill_id == skill_id,
                ValidationRow.revision == revision.number,
                ValidationRow.kind != "full_test",
            )
            .order_by(ValidationRow.queued_at.desc())
            .limit(1),
        )
        return Standing.model_validate(
            {
                "skill_id": row.id,
                "name": row.name,
                "status": row.status,
                "validated": newest is not None,
                "validation": newest or _first_validation(row.name, revision),
            }
        )

    async def delete_skill(self, skill_id: UUID) -> None:
        for table in (ValidationRow, RevisionRow):
            await self._connection.execute(delete(table).where(table.skill_id == skill_id))
        await self._connection.execute(delete(SkillRow).where(SkillRow.id == skill_id))

    async def environment(self) -> Environment:
        rows = (await self._connection.execute(_CURRENT)).all()
        return Environment(
            runtime_version=rows[0].number,
            snapshot=rows[0].snapshot,
            approved=tuple(_approved(row) for row in rows if row.id is not None),
        )

    async def versions(self) -> Sequence[Version]:
        await self._connection.execute(select(func.pg_advisory_xact_lock(RUNTIME_LOCK)))
        rows = await self._connection.execute(
            select(*_VERSIONS.c).order_by(VersionRow.number.desc())
        )
        return [Version.model_validate(row, from_attributes=True) for row in rows]

    async def save_version(self, version: Version) -> None:
        row = version.model_dump()
        await self._connection.execute(
            insert(VersionRow)
            .values(row)
            .on_conflict_do_update(index_elements=["number"], set_=row)
        )

    async def misplaced(self, made: frozenset[Made]) -> tuple[dict[UUID, str], dict[UUID, str]]:
        newest = (
            select(func.max(RevisionRow.number))
            .where(RevisionRow.skill_id == SkillRow.id)
            .scalar_subquery()
        )
        rows = (
            await self._connection.execute(
                select(SkillRow.id, SkillRow.name, SkillRow.status, newest.label("revision"))
                .where(SkillRow.status.in_(("approved", "rollback_pending")))
                .order_by(SkillRow.name)
                .with_for_update(of=SkillRow)
            )
        ).all()
        belongs = {row.id: (row.id, row.revision) in made for row in rows}
        to_hide = [row for row in rows if row.status == "approved" and not belongs[row.id]]
        to_show = [row for row in rows if row.status == "rollback_pending" and belongs[row.id]]
        return {row.id: row.name for row in to_hide}, {row.id: row.name for row in to_show}

    async def set_statuses(self, skills: Collection[UUID], status: SkillStatus) -> None:
        await self._connection.execute(
            update(SkillRow).where(SkillRow.id.in_(skills)).values(status=status)
        )

    async def note(
        self,
        action: AuditAction,
        actor: str,
        now: datetime,
        *,
        skill: tuple[UUID, str] | None = None,
        details: dict[str, str] | None = None,
    ) -> None:
        await self._connection.execute(
            insert(AuditRow).values(audit_row(action, actor, now, skill=skill, details=details))
        )


def audit_row(
    action: AuditAction,
    actor: str,
    now: datetime,
    *,
    skill: tuple[UUID, str] | None,
    details: dict[str, str] | None,
) -> dict[str, object]:
    skill_id, skill_name = skill or (None, None)
    return {
        "at": now,
        "actor": actor,
        "action": action,
        "skill_id": skill_id,
        "skill_name": skill_name,
        "details": details or {},
    }


def _first_validation(skill_name: str, revision: Row[tuple[object, ...]]) -> Validation:
    return Validation.model_validate(
        {
            "validation_id": uuid4(),
            "skill_id": revision.skill_id,
            "skill_name": skill_name,
            "revision": revision.number,
            "kind": "initial",
            "bundle": revision.bundle,
            "manifest": revision.manifest,
            "findings": revision.findings,
            "queued_at": revision.created_at,
        }
    )


def _approved(row: Row[tuple[object, ...]]) -> ApprovedSkill:
    manifest = SkillManifest.model_validate(row.manifest)
    return ApprovedSkill.model_validate(
        {
            "skill_id": row.id,
            "name": row.name,
            "bundle": row.bundle,
            "tasks": row.tasks,
            "grades": {grade["task_id"]: grade["grade"] for grade in row.grades or ()},
            "dependencies": manifest.dependencies,
            "time_limit_s": time_limit(manifest).total_seconds(),
        }
    )
