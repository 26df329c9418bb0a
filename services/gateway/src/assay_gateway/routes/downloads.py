"""The report in the form that is asked for, the traces behind it, and the bundle it is about."""

from collections.abc import Callable, Iterator
from http import HTTPStatus
from os import SEEK_END
from typing import Annotated, Any, BinaryIO, TypeVar
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse

from assay_contracts.reports import Report
from assay_contracts.rpc import GetBundle, GetReport
from assay_contracts.runs import RunKind, Trace
from assay_contracts.tasks import TaskId
from assay_gateway.answers import TracesAnswer
from assay_gateway.domain import preferred
from assay_gateway.domain.conditional import etag_of, is_known
from assay_gateway.domain.html import HEADER_POLICY
from assay_gateway.downloads import MEDIA_TYPES, Download, ReportForm
from assay_gateway.problems import responses

CHUNK_BYTES = 64 * 1024
FILE_ENDINGS: dict[ReportForm, str] = {
    "json": "json",
    "markdown": "md",
    "html": "html",
    "junit": "xml",
}

E = TypeVar("E", bound=Callable[..., Any])

Form = Annotated[
    ReportForm | None,
    Query(alias="format", description="The form of the report; without it, `Accept` chooses."),
]
IfNoneMatch = Annotated[
    list[str], Header(description="Entity tags of what is known; `304` if it is still so.")
]
OfValidation = Annotated[
    UUID | None, Query(description="An older validation; without it, the newest that has ended.")
]
NO_NEWS: dict[int | str, dict[str, Any]] = {
    304: {"description": "What `If-None-Match` names is still what there is."}
}
REPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Report,
        "description": "The report: JSON, Markdown, a page that needs nothing else, or JUnit XML.",
        "content": {
            media_type: {"schema": {"type": "string"}}
            for form, media_type in MEDIA_TYPES.items()
            if form != "json"
        },
    },
    **NO_NEWS,
    **responses("SKILL_NOT_FOUND", "NOT_FOUND", "VALIDATION_NOT_COMPLETED"),
}
BUNDLE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The bundle, as canonical zip.",
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    },
    **NO_NEWS,
    **responses("SKILL_NOT_FOUND", "NOT_FOUND"),
}


def download_routes(*, download: Download) -> APIRouter:
    router = APIRouter(prefix="/skills/{skill_id}", tags=["reports"])
    get_and_head = _with_head(router)

    @get_and_head("/report", REPORT)
    async def get_report(
        skill_id: UUID,
        accept: Annotated[str, Header(include_in_schema=False)] = "*/*",
        form: Form = None,
        if_none_match: IfNoneMatch = [],  # noqa: B006  # FastAPI copies it
    ) -> Response:
        """Read the report of the skill's newest validation that has ended."""
        return await _report(
            download, GetReport(skill_id=skill_id), form or _form(accept), if_none_match
        )

    @get_and_head("/validations/{validation_id}/report", REPORT)
    async def get_validation_report(
        skill_id: UUID,
        validation_id: UUID,
        accept: Annotated[str, Header(include_in_schema=False)] = "*/*",
        form: Form = None,
        if_none_match: IfNoneMatch = [],  # noqa: B006  # FastAPI copies it
    ) -> Response:
        """Read the report of one validation of the skill."""
        question = GetReport(skill_id=skill_id, validation_id=validation_id)
        return await _report(download, question, form or _form(accept), if_none_match)

    @router.get(
        "/traces", responses=responses("SKILL_NOT_FOUND", "NOT_FOUND", "VALIDATION_NOT_COMPLETED")
    )
    async def list_traces(skill_id: UUID, validation_id: OfValidation = None) -> TracesAnswer:
        """List the traces of a validation."""
        question = GetReport(skill_id=skill_id, validation_id=validation_id)
        return TracesAnswer.of(await download.report(question))

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
        content = await download.trace(question, run, task_id)
        return _file(content, "application/json", f"trace-{run}-{task_id}.json", inline=True)

    @get_and_head("/bundle", BUNDLE)
    async def get_bundle(
        request: Request,
        skill_id: UUID,
        if_none_match: IfNoneMatch = [],  # noqa: B006  # FastAPI copies it
    ) -> Response:
        """Download the bundle of the skill's newest revision."""
        view = await download.bundle(GetBundle(skill_id=skill_id))
        headers = {"ETag": f'"{view.bundle.sha256}"', "Cache-Control": "private, no-cache"}
        if is_known(headers["ETag"], if_none_match):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        filename = f"{view.skill_name}-{view.revision}.zip"
        if request.method == "HEAD":
            headers["Content-Length"] = str(view.bundle.size)
            headers["Content-Disposition"] = _disposition(filename, inline=False)
            return Response(media_type="application/zip", headers=headers)
        content = await download.bundle_content(view)
        return _file(content, "application/zip", filename, inline=False, headers=headers)

    return router


def _with_head(
    router: APIRouter,
) -> Callable[[str, dict[int | str, dict[str, Any]]], Callable[[E], E]]:
    """What can be got and is worth asking about before getting it."""

    def decorator(path: str, documented: dict[int | str, dict[str, Any]]) -> Callable[[E], E]:
        told = {
            status: {"description": response["description"]}
            for status, response in documented.items()
        }

        def add(endpoint: E) -> E:
            name = endpoint.__name__.removeprefix("get_")
            router.get(path, response_class=Response, responses=documented)(endpoint)
            return router.head(path, name=f"head_{name}", response_class=Response, responses=told)(
                endpoint
            )

        return add

    return decorator


def _form(accept: str) -> ReportForm:
    media_type = preferred(accept, tuple(MEDIA_TYPES.values()))
    return next(form for form, offered in MEDIA_TYPES.items() if offered == media_type)


async def _report(
    download: Download, question: GetReport, form: ReportForm, if_none_match: list[str]
) -> Response:
    view, content = await download.report_as(question, form)
    headers = {
        "ETag": etag_of(content),
        "Vary": "Accept",
        "Cache-Control": "private, no-cache",
        "Content-Disposition": _disposition(
            f"report-{view.validation_id}.{FILE_ENDINGS[form]}", inline=True
        ),
    }
    if form == "html":
        headers["Content-Security-Policy"] = HEADER_POLICY
    if is_known(headers["ETag"], if_none_match):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(content, media_type=MEDIA_TYPES[form], headers=headers)


def _file(
    content: BinaryIO,
    media_type: str,
    filename: str,
    *,
    inline: bool,
    headers: dict[str, str] | None = None,
) -> Response:
    length = content.seek(0, SEEK_END)
    content.seek(0)
    return StreamingResponse(
        _chunks(content),
        media_type=media_type,
        headers={
            **(headers or {}),
            "Content-Length": str(length),
            "Content-Disposition": _disposition(filename, inline=inline),
        },
    )


def _chunks(content: BinaryIO) -> Iterator[bytes]:
    with content:
        while chunk := content.read(CHUNK_BYTES):
            yield chunk


def _disposition(filename: str, *, inline: bool) -> str:
    """Names of ours are letters, digits, points and hyphens: only letters beyond ASCII need care.

    A header holds ASCII alone, so those are told apart (RFC 6266), for readers that know how.
    """
    disposition = "inline" if inline else "attachment"
    if filename.isascii():
        return f'{disposition}; filename="{filename}"'
    plain = "".join(c if c.isascii() else "_" for c in filename)
    return f"{disposition}; filename=\"{plain}\"; filename*=UTF-8''{quote(filename)}"
