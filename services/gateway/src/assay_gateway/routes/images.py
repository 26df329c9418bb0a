"""Runtime versions, which the API calls images."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends

from assay_contracts.runtime import VERSION_PATTERN, ListVersions, RollbackRuntime, RuntimeVersions
from assay_gateway.answers import RollbackAnswer
from assay_gateway.auth import Authenticate
from assay_gateway.domain import Caller
from assay_gateway.problems import responses
from assay_gateway.service import Read

Target = Annotated[str, Body(embed=True, pattern=VERSION_PATTERN, examples=["v1.2"])]


def image_routes(*, authenticate: Authenticate, ask: Read) -> APIRouter:
    router = APIRouter(prefix="/images", tags=["images"])

    @router.get("")
    async def list_images() -> RuntimeVersions:
        """List the runtime versions, newest first."""
        return await ask(ListVersions())

    @router.post("/rollback", responses=responses("IMAGE_NOT_FOUND", "INVALID_STATUS_TRANSITION"))
    async def roll_back(
        caller: Annotated[Caller, Depends(authenticate)], target_version: Target
    ) -> RollbackAnswer:
        """Make another version current; skills it was made without are hidden from agents."""
        return RollbackAnswer.of(
            await ask(RollbackRuntime(target_version=target_version, actor=caller.name))
        )

    return router
