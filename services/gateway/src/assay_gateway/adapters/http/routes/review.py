"""Approve, reject, delete, validate again, cancel; and who did so."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body

from assay_contracts.rest import ApproveAnswer, CancelAnswer, DeleteAnswer, ValidateAnswer
from assay_contracts.review import (
    MAX_REASON,
    ApproveSkill,
    AuditPage,
    CancelValidation,
    DeleteSkill,
    ListAudit,
    RejectReply,
    RejectSkill,
    RevalidateSkill,
)
from assay_gateway.adapters.http.idempotency_key import AskedBy
from assay_gateway.adapters.http.paging import Page, Size
from assay_gateway.adapters.http.problems import responses
from assay_gateway.use_cases.records import AskRecords

Reason = Annotated[
    str,
    Body(
        embed=True,
        min_length=1,
        max_length=MAX_REASON,
        pattern=r"^[^\x00]*[^\s\x00][^\x00]*$",
        description="Not blank.",
    ),
]

STARTING = responses("VALIDATION_IN_PROGRESS", "REQUEST_IN_PROGRESS")


def review_routes(*, ask: AskRecords) -> APIRouter:
    router = APIRouter(
        prefix="/skills/{skill_id:uuid}",
        tags=["review"],
        responses=responses("SKILL_NOT_FOUND", "INVALID_STATUS_TRANSITION", "REQUEST_IN_PROGRESS"),
    )

    @router.post("/approve", responses=responses("VALIDATION_NOT_COMPLETED", "REGRESSION_FAILED"))
    async def approve_skill(skill_id: UUID, by: AskedBy) -> ApproveAnswer:
        """Let agents use a skill that passed; its environment becomes the next runtime version."""
        return ApproveAnswer.of(await ask(ApproveSkill(skill_id=skill_id, **by)))

    @router.post("/reject", responses=responses("FILE_TOO_LARGE"))
    async def reject_skill(skill_id: UUID, by: AskedBy, reason: Reason) -> RejectReply:
        """Turn a pending skill down."""
        return await ask(RejectSkill(skill_id=skill_id, reason=reason, **by))

    @router.delete("")
    async def delete_skill(skill_id: UUID, by: AskedBy) -> DeleteAnswer:
        """Remove a skill; its name is free again, the audit log keeps what was done."""
        return DeleteAnswer.of(await ask(DeleteSkill(skill_id=skill_id, **by)))

    @router.post("/validate", responses=STARTING)
    async def validate_skill(skill_id: UUID, by: AskedBy) -> ValidateAnswer:
        """Validate the newest revision once more."""
        return ValidateAnswer.of(await ask(RevalidateSkill(skill_id=skill_id, **by)))

    @router.post("/revalidate", responses=STARTING)
    async def revalidate_skill(skill_id: UUID, by: AskedBy) -> ValidateAnswer:
        """Do the same by another name."""
        return await validate_skill(skill_id, by)

    @router.post("/cancel")
    async def cancel_validation(skill_id: UUID, by: AskedBy) -> CancelAnswer:
        """End the skill's validation as inconclusive."""
        return CancelAnswer.of(await ask(CancelValidation(skill_id=skill_id, **by)))

    return router


def audit_routes(*, ask: AskRecords) -> APIRouter:
    router = APIRouter(tags=["review"])

    @router.get("/audit")
    async def list_audit(
        skill_id: UUID | None = None,
        page: Page = 1,
        size: Size = 20,
    ) -> AuditPage:
        """List who did what, newest first."""
        return await ask(ListAudit(skill_id=skill_id, page=page, size=size))

    return router
