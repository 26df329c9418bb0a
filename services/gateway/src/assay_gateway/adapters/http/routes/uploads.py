"""Take a skill in."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from assay_contracts.rest import UploadAnswer
from assay_gateway.adapters.http.idempotency_key import AskedBy
from assay_gateway.adapters.http.multipart import REQUEST_BODY, received_file
from assay_gateway.adapters.http.problems import responses
from assay_gateway.domain.rate_limit import RateLimit
from assay_gateway.domain.uploads import Upload
from assay_gateway.use_cases.uploads import SubmitUpload


def upload_routes(*, submit: SubmitUpload, limit: RateLimit) -> APIRouter:
    """Uploads; `limit` is for each caller."""
    router = APIRouter(prefix="/skills", tags=["skills"])

    @router.post(
        "/upload",
        openapi_extra=REQUEST_BODY,
        responses=responses(
            "INVALID_SKILL_FORMAT",
            "INVALID_ZIP",
            "SKILL_ALREADY_EXISTS",
            "REQUEST_IN_PROGRESS",
            "FILE_TOO_LARGE",
        ),
    )
    async def upload_skill(
        request: Request,
        by: AskedBy,
        validate: Annotated[
            bool, Query(description="Whether to start the skill's validation at once.")
        ] = True,
    ) -> UploadAnswer:
        """Check a zipped skill and start its validation; refused with every reason at once."""
        limit.admit(by["actor"], "Too many uploads in a short time.")
        async with received_file(request) as file:
            upload = Upload(
                filename=file.filename or "",
                content=file.file,
                size=file.size or 0,
                uploaded_by=by["actor"],
                start_validation=validate,
                idempotency_key=by["idempotency_key"],
            )
            return UploadAnswer.of(await submit(upload))

    return router
