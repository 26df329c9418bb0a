"""Runtime versions in PostgreSQL, and the environment that the current one is."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Row, Select, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import aliased, join, outerjoin

from assay_contracts.skills import SkillManifest
from assay_scorer.adapters.database import Repository, TransactionPart
from assay_scorer.adapters.tables import SkillRow, ValidationRow, VersionRow
from assay_scorer.domain.environment import ApprovedSkill, Environment
from assay_scorer.domain.runtime_versions import Version, gone
from assay_scorer.domain.time_limits import time_limit

RUNTIME_LOCK: Final = 0x455C
"""Key of the advisory lock that makes changes of the current version one at a time."""

_NEWEST_FIRST: Final = select(*VersionRow.__table__.c).order_by(VersionRow.number.desc())


_OTHER: Final = aliased(VersionRow)
APPROVED_BY: Final = (
    select(_OTHER.validation_id)
    .where(_OTHER.skill_id == SkillRow.id)
    .order_by(_OTHER.number.desc())
    .limit(1)
    .correlate(SkillRow)
    .scalar_subquery()
)
"""The validation that a skill was approved by last."""


def _current_with_approved() -> Select[*tuple[object, ...]]:
    """The current version, beside each approved skill.

    One statement, so that both are of one moment: an approval changes them together.
    """
    document = ValidationRow.document
    skills = join(SkillRow, ValidationRow, ValidationRow.id == APPROVED_BY)
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


class PostgresRuntimeVersionQueries(Repository):
    """Implements `ports.runtime_versions.RuntimeVersionQueries`."""

    async def versions(self) -> Sequence[Version]:
        async with self._reading() as connection:
            rows = (await connection.execute(_NEWEST_FIRST)).all()
        return [Version.model_validate(row, from_attributes=True) for row in rows]


class PostgresRuntimeVersionChanges(TransactionPart):
    """Implements `ports.runtime_versions`: `RuntimeVersionChanges` and `Environments`."""

    async def lock_versions(self) -> Sequence[Version]:
        await self._connection.execute(select(func.pg_advisory_xact_lock(RUNTIME_LOCK)))
        rows = await self._connection.execute(_NEWEST_FIRST)
        return [Version.model_validate(row, from_attributes=True) for row in rows]

    async def save_version(self, version: Version) -> None:
        row = version.model_dump()
        await self._connection.execute(
            insert(VersionRow)
            .values(row)
            .on_conflict_do_update(index_elements=["number"], set_=row)
        )

    async def current_environment(self) -> Environment:
        rows = (await self._connection.execute(_CURRENT)).all()
        approved = tuple(_approved(row) for row in rows if row.id is not None)
        versions = await self._connection.execute(_NEWEST_FIRST)
        led_here = [Version.model_validate(row, from_attributes=True) for row in versions]
        return Environment(
            runtime_version=rows[0].number,
            snapshot=rows[0].snapshot,
            without=gone(led_here, rows[0].number, [skill.name for skill in approved]),
            approved=approved,
        )


def _approved(row: Row[*tuple[object, ...]]) -> ApprovedSkill:
    manifest = SkillManifest.model_validate(row.manifest)
    return ApprovedSkill.model_validate(
        {
            "skill_id": row.id,
            "name": row.name,
            "bundle": row.bundle,
            "tasks": row.tasks,
            "grades": {grade["task_id"]: grade["grade"] for grade in row.grades or ()},
            "dependencies": manifest.dependencies,
            "description": manifest.description,
            "time_limit_s": time_limit(manifest).total_seconds(),
        }
    )
