"""The bytes of a skill."""

from http import HTTPStatus
from typing import Final
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response

from assay_contracts.rpc import GetBundle
from assay_gateway.adapters.http.downloads import (
    NOT_MODIFIED,
    IfNoneMatch,
    content_disposition,
    file_response,
    with_head,
)
from assay_gateway.adapters.http.problems import Responses, responses
from assay_gateway.domain.entity_tags import is_known
from assay_gateway.use_cases.downloads import OpenBundle
from assay_gateway.use_cases.records import AskRecords

BUNDLE: Final[Responses] = {
    200: {
        "description": "The bundle, as canonical zip.",
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    },
    **NOT_MODIFIED,
    **responses("SKILL_NOT_FOUND", "NOT_FOUND"),
}


def bundle_routes(*, ask: AskRecords, open_bundle: OpenBundle) -> APIRouter:
    router = APIRouter(prefix="/skills/{skill_id}", tags=["reports"])
    get_and_head = with_head(router)

    @get_and_head("/bundle", BUNDLE)
    async def get_bundle(
        request: Request,
        skill_id: UUID,
        if_none_match: IfNoneMatch = (),
    ) -> Response:
        """Download the bundle of the skill's newest revision."""
        view = await ask(GetBundle(skill_id=skill_id))
        headers = {"ETag": f'"{view.bundle.sha256}"', "Cache-Control": "private, no-cache"}
        if is_known(headers["ETag"], if_none_match):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        filename = f"{view.skill_name}-{view.revision}.zip"
        if request.method == "HEAD":
            headers["Content-Length"] = str(view.bundle.size)
            headers["Content-Disposition"] = content_disposition(filename, inline=False)
            return Response(media_type="application/zip", headers=headers)
        content = await open_bundle(view)
        return file_response(content, "application/zip", filename, inline=False, headers=headers)

    return router
