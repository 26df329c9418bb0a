"""The report, in the form that is asked for."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header
from fastapi.responses import Response

from assay_contracts.reports import Report
from assay_contracts.rpc import GetReport
from assay_gateway.domain import preferred
from assay_gateway.problems import responses
from assay_gateway.service import JSON, MARKDOWN, FetchReport


def report_routes(*, fetch: FetchReport) -> APIRouter:
    router = APIRouter(prefix="/skills", tags=["reports"])

    @router.get(
        "/{skill_id}/report",
        response_class=Response,
        responses={
            200: {
                "model": Report,
                "description": "The report: JSON, or Markdown for `Accept: text/markdown`.",
                "content": {MARKDOWN: {"schema": {"type": "string"}}},
            },
            **responses("SKILL_NOT_FOUND", "VALIDATION_NOT_COMPLETED"),
        },
    )
    async def get_report(
        skill_id: UUID, accept: Annotated[str, Header(include_in_schema=False)] = JSON
    ) -> Response:
        """Read the report of the skill's newest validation."""
        media_type = preferred(accept, (JSON, MARKDOWN))
        content = await fetch(GetReport(skill_id=skill_id), media_type)
        return Response(content, media_type=media_type, headers={"Vary": "Accept"})

    return router
