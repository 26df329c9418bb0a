from datetime import datetime
from typing import Protocol
from uuid import UUID

from assay_contracts.review import AuditAction, AuditPage, ListAudit


class AuditQueries(Protocol):
    async def audit(self, query: ListAudit) -> AuditPage: ...


class AuditLog(Protocol):
    """Within a transaction."""

    async def log_action(
        self,
        action: AuditAction,
        actor: str,
        now: datetime,
        *,
        skill: tuple[UUID, str] | None = None,
        details: dict[str, str] | None = None,
    ) -> None:
        """Add an entry to the audit log."""
        ...
