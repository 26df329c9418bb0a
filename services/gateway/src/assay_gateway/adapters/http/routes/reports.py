"""The report, in the form that is asked for."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query
from fastapi.responses import Response

from assay_contracts.reports import Language, Report
from assay_contracts.rest import ReportForm
from assay_contracts.rpc import GetReport
from assay_gateway.adapters.http.downloads import (
    NOT_MODIFIED,
    IfNoneMatch,
    content_disposition,
    with_head,
)
from assay_gateway.adapters.http.problems import Responses, responses
from assay_gateway.domain.entity_tags import etag_of, is_known
from assay_gateway.domain.languages import preferred_language
from assay_gateway.domain.report_forms import FILE_ENDINGS, MEDIA_TYPES, preferred_form
from assay_gateway.use_cases.downloads import RenderReport
from assay_reporting.html import HEADER_POLICY

Accept = Annotated[str, Header(include_in_schema=False)]
Form = Annotated[
    ReportForm | None,
    Query(alias="format", description="The form of the report; without it, `Accept` chooses."),
]
Reads = Annotated[
    Language | None,
    Query(
        alias="language",
        description="The reader's language; without it, `Accept-Language` chooses.",
    ),
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """How the client wants the report."""

    form: ReportForm
    language: Language


def _wanted(
    accept: Accept = "*/*",
    accept_language: Annotated[str, Header(include_in_schema=False)] = "",
    form: Form = None,
    language: Reads = None,
) -> Wanted:
    return Wanted(form or preferred_form(accept), language or preferred_language(accept_language))


AsWanted = Annotated[Wanted, Depends(_wanted)]
REPORT: Final[Responses] = {
    200: {
        "model": Report,
        "description": "The report: JSON, Markdown, a page that needs nothing else, or JUnit XML.",
        "content": {
            media_type: {"schema": {"type": "object" if form == "attestation" else "string"}}
            for form, media_type in MEDIA_TYPES.items()
            if form != "json"
        },
    },
    **NOT_MODIFIED,
    **responses("SKILL_NOT_FOUND", "NOT_FOUND", "VALIDATION_NOT_COMPLETED"),
}


def report_routes(*, render_report: RenderReport) -> APIRouter:
    router = APIRouter(prefix="/skills/{skill_id}", tags=["reports"])
    get_and_head = with_head(router)

    @get_and_head("/report", REPORT)
    async def get_report(
        skill_id: UUID, wanted: AsWanted, if_none_match: IfNoneMatch = ()
    ) -> Response:
        """Read the report of the skill's newest validation that has ended."""
        return await _report(render_report, GetReport(skill_id=skill_id), wanted, if_none_match)

    @get_and_head("/validations/{validation_id}/report", REPORT)
    async def get_validation_report(
        skill_id: UUID, validation_id: UUID, wanted: AsWanted, if_none_match: IfNoneMatch = ()
    ) -> Response:
        """Read the report of one validation of the skill."""
        question = GetReport(skill_id=skill_id, validation_id=validation_id)
        return await _report(render_report, question, wanted, if_none_match)

    return router


async def _report(
    render: RenderReport, question: GetReport, wanted: Wanted, if_none_match: tuple[str, ...]
) -> Response:
    form = wanted.form
    view, content = await render(question, form, wanted.language)
    headers = {
        "ETag": etag_of(content),
        "Vary": "Accept, Accept-Language",
        "Cache-Control": "private, no-cache",
        "Content-Disposition": content_disposition(
            f"report-{view.validation_id}.{FILE_ENDINGS[form]}", inline=True
        ),
    }
    if form == "html":
        headers["Content-Security-Policy"] = HEADER_POLICY
    if is_known(headers["ETag"], if_none_match):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(content, media_type=MEDIA_TYPES[form], headers=headers)
