"""The skills there are: list, detail, status and validations."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from assay_contracts.base import Model
from assay_contracts.rpc import (
    GetSkill,
    GetStatus,
    ListSkills,
    ListValidations,
    Rpc,
    SkillDetail,
    SkillPage,
    SkillStatusView,
    ValidationHistory,
)
from assay_contracts.skills import SkillStatus, ValidationStage
from assay_gateway.adapters.http.paging import Page, Size
from assay_gateway.adapters.http.problems import responses
from assay_gateway.use_cases.records import ReadRecordsAsJson


def skill_routes(*, read_json: ReadRecordsAsJson) -> APIRouter:
    router = APIRouter(prefix="/skills", tags=["skills"])

    async def shown(question: Rpc[Model]) -> Response:
        # The records answer in the shape of this API; reading and writing it anew changes nothing.
        return Response(await read_json(question), media_type="application/json")

    @router.get("", response_model=SkillPage)
    async def list_skills(
        status: SkillStatus | None = None,
        validation_stage: ValidationStage | None = None,
        q: Annotated[
            str | None,
            Query(max_length=200, pattern=r"^[^\x00]*$", description="Part of a name."),
        ] = None,
        page: Page = 1,
        size: Size = 20,
    ) -> Response:
        """List skills, newest first."""
        return await shown(
            ListSkills(status=status, validation_stage=validation_stage, q=q, page=page, size=size)
        )

    # What is no id is another path, such as those that only take uploads or start full tests.
    @router.get(
        "/{skill_id:uuid}", response_model=SkillDetail, responses=responses("SKILL_NOT_FOUND")
    )
    async def get_skill(skill_id: UUID) -> Response:
        """Show one skill."""
        return await shown(GetSkill(skill_id=skill_id))

    @router.get(
        "/{skill_id}/validation-status",
        response_model=SkillStatusView,
        responses=responses("SKILL_NOT_FOUND"),
    )
    async def get_validation_status(skill_id: UUID) -> Response:
        """Show how far the skill's newest validation has come."""
        return await shown(GetStatus(skill_id=skill_id))

    @router.get(
        "/{skill_id}/validations",
        response_model=ValidationHistory,
        responses=responses("SKILL_NOT_FOUND"),
    )
    async def list_validations(
        skill_id: UUID,
        page: Page = 1,
        size: Size = 20,
    ) -> Response:
        """List the skill's validations with their scores, newest first."""
        return await shown(ListValidations(skill_id=skill_id, page=page, size=size))

    return router
