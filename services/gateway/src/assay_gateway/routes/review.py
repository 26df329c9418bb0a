"""Approve, reject, delete, validate again, cancel; and who did so."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Query

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
from assay_gateway.answers import ApproveAnswer, CancelAnswer, DeleteAnswer, ValidateAnswer
from assay_gateway.auth import Authenticate
from assay_gateway.domain import Caller
from assay_gateway.problems import responses
from assay_gateway.service import Read

Reason = Annotated[str, Body(embed=True, min_length=1, max_length=MAX_REASON)]


def review_routes(*, authenticate: Authenticate, ask: Read) -> APIRouter:
    router = APIRouter(
        prefix="/skills/{skill_id}",
        tags=["review"],
        responses=responses("SKILL_NOT_FOUND", "INVALID_STATUS_TRANSITION"),
    )
    admin = Annotated[Caller, Depends(authenticate)]

    @router.post("/approve", responses=responses("VALIDATION_NOT_COMPLETED", "REGRESSION_FAILED"))
    async def approve_skill(skill_id: UUID, caller: admin) -> ApproveAnswer:
        """Let agents use a skill that passed; its environment becomes the next runtime version."""
        return ApproveAnswer.of(await ask(ApproveSkill(skill_id=skill_id, actor=caller.name)))

    @router.post("/reject")
    async def reject_skill(skill_id: UUID, caller: admin, reason: Reason) -> RejectReply:
        """Turn a pending skill down."""
        return await ask(RejectSkill(skill_id=skill_id, actor=caller.name, reason=reason))

    @router.delete("")
    async def delete_skill(skill_id: UUID, caller: admin) -> DeleteAnswer:
        """Remove a skill; its name is free again, the audit log keeps what was done."""
        return DeleteAnswer.of(await ask(DeleteSkill(skill_id=skill_id, actor=caller.name)))

    @router.post("/validate", responses=responses("VALIDATION_IN_PROGRESS"))
    async def validate_skill(skill_id: UUID, caller: admin) -> ValidateAnswer:
        """Validate the newest revision once more."""
        return ValidateAnswer.of(await ask(RevalidateSkill(skill_id=skill_id, actor=caller.name)))

    @router.post("/revalidate", responses=responses("VALIDATION_IN_PROGRESS"))
    async def revalidate_skill(skill_id: UUID, caller: admin) -> ValidateAnswer:
        """Do the same by another name."""
        return await validate_skill(skill_id, caller)

    @router.post("/cancel")
    async def cancel_validation(skill_id: UUID, caller: admin) -> CancelAnswer:
        """End the skill's validation as inconclusive."""
        return CancelAnswer.of(await ask(CancelValidation(skill_id=skill_id, actor=caller.name)))

    return router


def audit_routes(*, ask: Read) -> APIRouter:
    router = APIRouter(tags=["review"])

    @router.get("/audit")
    async def list_audit(
        skill_id: UUID | None = None,
        page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
        size: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> AuditPage:
        """List who did what, newest first."""
        return await ask(ListAudit(skill_id=skill_id, page=page, size=size))

    return router
