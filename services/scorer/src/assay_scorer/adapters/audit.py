"""Who did what, in PostgreSQL."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from assay_contracts.review import AuditAction, AuditEntry, AuditPage, ListAudit
from assay_scorer.adapters.database import Repository, TransactionPart
from assay_scorer.adapters.tables import AuditRow


class PostgresAuditQueries(Repository):
    """Implements `ports.audit.AuditQueries`."""

    async def audit(self, query: ListAudit) -> AuditPage:
        where = [AuditRow.skill_id == query.skill_id] if query.skill_id else []
        page = (
            select(*AuditRow.__table__.c)
            .where(*where)
            .order_by(AuditRow.number.desc())
            .offset((query.page - 1) * query.size)
            .limit(query.size)
        )
        async with self._reading() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(AuditRow).where(*where)
            )
            rows = (await connection.execute(page)).all()
        return AuditPage(
            entries=tuple(AuditEntry.model_validate(row, from_attributes=True) for row in rows),
            total=total or 0,
            page=query.page,
            size=query.size,
        )


class PostgresAuditLog(TransactionPart):
    """Implements `ports.audit.AuditLog`."""

    async def log_action(
        self,
        action: AuditAction,
        actor: str,
        now: datetime,
        *,
        skill: tuple[UUID, str] | None = None,
        details: dict[str, str] | None = None,
    ) -> None:
        row = audit_row(action, actor, now, skill=skill, details=details)
        await self._connection.execute(insert(AuditRow).values(row))


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
