"""What housekeeping looks up in PostgreSQL, and removes from it."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import cast, delete, func, select, text, union
from sqlalchemy.dialects.postgresql import JSONB, JSONPATH

from assay_scorer.adapters.database import Repository
from assay_scorer.adapters.environments import remove_unused
from assay_scorer.adapters.tables import EnvironmentRow, OutboxRow, RevisionRow, ValidationRow
from assay_scorer.domain.retention import OwningValidation

_BUNDLES: Final = cast("$.approved[*].bundle.key", JSONPATH)
_UNDER_WAY: Final = select(ValidationRow.environment_id).where(ValidationRow.step != "done")
# A skill may be deleted while another is still tested beside it.
_RECORDED_BUNDLES: Final = union(
    select(RevisionRow.bundle["key"]),
    select(func.jsonb_path_query(EnvironmentRow.document, _BUNDLES, type_=JSONB)).where(
        EnvironmentRow.id.in_(_UNDER_WAY)
    ),
)

# `strict`, because otherwise each key would be found twice: in its array and in itself.
_OWNERS: Final = text("""
select v.id as validation_id, v.completed_at as ended_at,
  jsonb_path_query_array(v.document, 'strict $.**.trace_key') as cited,
  exists (select from runtime_versions r where r.validation_id = v.id) or not exists (
    select from validations newer
    where newer.skill_id = v.skill_id and newer.revision = v.revision
      and newer.queued_at > v.queued_at and newer.step = 'done'
      and (newer.kind = 'full_test') = (v.kind = 'full_test')) as live
from validations v where v.id = any(:ids)
""")


class PostgresHousekeeping(Repository):
    """Implements `ports.housekeeping`: `BundleRecords` and `RetentionRecords`."""

    async def recorded_bundles(self) -> set[str]:
        async with self._reading() as connection:
            return set(await connection.scalars(_RECORDED_BUNDLES))

    async def owning_validations(self, ids: Collection[UUID]) -> Mapping[UUID, OwningValidation]:
        async with self._reading() as connection:
            rows = await connection.execute(_OWNERS, {"ids": list(ids)})
            found = [OwningValidation.model_validate(row, from_attributes=True) for row in rows]
        return {each.validation_id: each for each in found}

    async def remove_unused(self, *, environments_before: datetime, said_before: datetime) -> None:
        async with self._changing() as connection:
            await remove_unused(connection, environments_before)
            await connection.execute(delete(OutboxRow).where(OutboxRow.published_at < said_before))
