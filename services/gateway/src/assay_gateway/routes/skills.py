"""Upload, list, detail and status of skills."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request

from assay_contracts.rpc import (
    GetSkill,
    GetStatus,
    ListSkills,
    ListValidations,
    SkillPage,
    SkillStatusView,
    ValidationHistory,
)
from assay_contracts.skills import SkillStatus, ValidationStage
from assay_gateway.answers import SkillDetailAnswer, UploadAnswer
from assay_gateway.auth import Authenticate
from assay_gateway.domain import Caller
from assay_gateway.multipart import REQUEST_BODY, received_file
from assay_gateway.problems import responses
from assay_gateway.service import Read, SubmitUpload, Upload


def skill_routes(*, authenticate: Authenticate, submit: SubmitUpload, read: Read) -> APIRouter:
    router = APIRouter(prefix="/skills", tags=["skills"])

    @router.post(
        "/upload",
        openapi_extra=REQUEST_BODY,
        responses=responses(
            "INVALID_SKILL_FORMAT", "INVALID_ZIP", "SKILL_ALREADY_EXISTS", "FILE_TOO_LARGE"
        ),
    )
    async def upload_skill(
        request: Request, caller: Annotated[Caller, Depends(authenticate)]
    ) -> UploadAnswer:
        """Check a zipped skill and start its validation; refused with every reason at once."""
        async with received_file(request) as file:
            return await submit(
                Upload(
                    filename=file.filename or "",
                    content=file.file,
                    size=file.size or 0,
                    uploaded_by=caller.name,
                )
            )

    @router.get("")
    async def list_skills(
        status: SkillStatus | None = None,
        validation_stage: ValidationStage | None = None,
        q: Annotated[
            str | None,
            Query(
                max_length=200, pattern=r"^[^\x00]*$", description="Part of a name or description."
            ),
        ] = None,
        page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
        size: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> SkillPage:
        """List skills, newest first."""
        return await read(
            ListSkills(status=status, validation_stage=validation_stage, q=q, page=page, size=size)
        )

    @router.get("/{skill_id}", responses=responses("SKILL_NOT_FOUND"))
    async def get_skill(skill_id: UUID) -> SkillDetailAnswer:
        """Show one skill."""
        return SkillDetailAnswer.of(await read(GetSkill(skill_id=skill_id)))

    @router.get("/{skill_id}/validation-status", responses=responses("SKILL_NOT_FOUND"))
    async def get_validation_status(skill_id: UUID) -> SkillStatusView:
        """Show how far the skill's newest validation has come."""
        return await read(GetStatus(skill_id=skill_id))

    @router.get("/{skill_id}/validations", responses=responses("SKILL_NOT_FOUND"))
    async def list_validations(
        skill_id: UUID,
        page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
        size: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> ValidationHistory:
        """List the skill's validations with their scores, newest first."""
        return await read(ListValidations(skill_id=skill_id, page=page, size=size))

    return router
