"""Runtime versions, which the API calls images."""

from typing import Annotated

from fastapi import APIRouter, Body, Path

from assay_contracts.rest import RollbackAnswer, RollbackPreviewAnswer
from assay_contracts.runtime import VERSION_PATTERN, ListVersions, RollbackRuntime, RuntimeVersions
from assay_gateway.adapters.http.admin import Admin
from assay_gateway.adapters.http.idempotency_key import AskedBy
from assay_gateway.adapters.http.problems import responses
from assay_gateway.use_cases.records import AskRecords

Version = Annotated[str, Path(pattern=VERSION_PATTERN, examples=["v1.2"])]
Target = Annotated[str, Body(embed=True, pattern=VERSION_PATTERN, examples=["v1.2"])]


def runtime_version_routes(*, ask: AskRecords) -> APIRouter:
    router = APIRouter(prefix="/images", tags=["images"])

    @router.get("")
    async def list_images() -> RuntimeVersions:
        """List the runtime versions, newest first."""
        return await ask(ListVersions())

    @router.get(
        "/{version}/rollback-preview",
        responses=responses("IMAGE_NOT_FOUND", "INVALID_STATUS_TRANSITION"),
    )
    async def preview_rollback(version: Version, caller: Admin) -> RollbackPreviewAnswer:
        """Show which skills a rollback to this version would hide and restore; changes nothing."""
        return RollbackPreviewAnswer.of(
            await ask(RollbackRuntime(target_version=version, actor=caller.name, dry_run=True))
        )

    @router.post(
        "/rollback",
        responses=responses(
            "IMAGE_NOT_FOUND",
            "INVALID_STATUS_TRANSITION",
            "REQUEST_IN_PROGRESS",
            "FILE_TOO_LARGE",
        ),
    )
    async def roll_back(by: AskedBy, target_version: Target) -> RollbackAnswer:
        """Make another version current; skills it was made without are hidden from agents."""
        return RollbackAnswer.of(await ask(RollbackRuntime(target_version=target_version, **by)))

    return router
