"""What agents did in the tasks of a validation."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from assay_contracts.rest import TracesAnswer
from assay_contracts.rpc import GetReport
from assay_contracts.runs import RunKind, Trace
from assay_contracts.tasks import TaskId
from assay_gateway.adapters.http.downloads import file_response
from assay_gateway.adapters.http.problems import responses
from assay_gateway.use_cases.downloads import OpenTrace, ReadReport

OfValidation = Annotated[
    UUID | None, Query(description="An older validation; without it, the newest that has ended.")
]


def trace_routes(*, read_report: ReadReport, open_trace: OpenTrace) -> APIRouter:
    router = APIRouter(prefix="/skills/{skill_id}", tags=["reports"])

    @router.get(
        "/traces", responses=responses("SKILL_NOT_FOUND", "NOT_FOUND", "VALIDATION_NOT_COMPLETED")
    )
    async def list_traces(skill_id: UUID, validation_id: OfValidation = None) -> TracesAnswer:
        """List the traces of a validation."""
        question = GetReport(skill_id=skill_id, validation_id=validation_id)
        return TracesAnswer.of(await read_report(question))

    @router.get(
        "/traces/{run}/{task_id}",
        response_class=StreamingResponse,
        responses={
            200: {"model": Trace, "description": "What the agent did in one task."},
            **responses("SKILL_NOT_FOUND", "NOT_FOUND", "VALIDATION_NOT_COMPLETED"),
        },
        status_code=200,
    )
    async def get_trace(
        skill_id: UUID, run: RunKind, task_id: TaskId, validation_id: OfValidation = None
    ) -> Response:
        """Read what the agent did in one task of a run."""
        question = GetReport(skill_id=skill_id, validation_id=validation_id)
        content = await open_trace(question, run, task_id)
        return file_response(
            content, "application/json", f"trace-{run}-{task_id}.json", inline=True
        )

    return router
