"""Full tests: every approved skill tested once more."""

from uuid import UUID

from fastapi import APIRouter

from assay_contracts.full_tests import (
    CancelFullTest,
    FullTestPage,
    FullTestView,
    GetFullTest,
    ListFullTests,
    StartFullTest,
)
from assay_gateway.adapters.http.idempotency_key import AskedBy
from assay_gateway.adapters.http.paging import Page, Size
from assay_gateway.adapters.http.problems import responses
from assay_gateway.use_cases.records import AskRecords


def full_test_routes(*, ask: AskRecords) -> APIRouter:
    router = APIRouter(tags=["full tests"])

    @router.post(
        "/skills/full-test", responses=responses("VALIDATION_IN_PROGRESS", "REQUEST_IN_PROGRESS")
    )
    async def start_full_test(by: AskedBy) -> FullTestView:
        """Test every approved skill with its stored tasks and two new ones."""
        return await ask(StartFullTest(**by))

    @router.get("/full-tests")
    async def list_full_tests(
        page: Page = 1,
        size: Size = 20,
    ) -> FullTestPage:
        """List full tests, newest first."""
        return await ask(ListFullTests(page=page, size=size))

    @router.get("/full-tests/{full_test_id}", responses=responses("FULL_TEST_NOT_FOUND"))
    async def get_full_test(full_test_id: UUID) -> FullTestView:
        """Show a full test, skill by skill."""
        return await ask(GetFullTest(full_test_id=full_test_id))

    @router.post(
        "/full-tests/{full_test_id}/cancel",
        responses=responses(
            "FULL_TEST_NOT_FOUND", "INVALID_STATUS_TRANSITION", "REQUEST_IN_PROGRESS"
        ),
    )
    async def cancel_full_test(full_test_id: UUID, by: AskedBy) -> FullTestView:
        """End what has not ended yet of a full test."""
        return await ask(CancelFullTest(full_test_id=full_test_id, **by))

    return router
