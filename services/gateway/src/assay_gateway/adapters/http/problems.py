"""Every failure leaves in one shape: `{code, message, details}`."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, TypeVar
from uuid import uuid4

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from assay_contracts.rpc import Problem, ProblemCode, ProblemDetails, ProblemError
from assay_gateway.domain.problem_status import HTTP_STATUS

log = structlog.get_logger(__name__)

Responses = dict[int | str, dict[str, object]]
"""What a route may answer, by status, as the OpenAPI document shows it."""
RETRY_AFTER_S: Final = 5
CLIENT_CLOSED_REQUEST: Final = 499
"""Seen by nobody: the client has gone."""

E = TypeVar("E", bound=Exception)


def answer(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    status = HTTP_STATUS[problem.code]
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("request_failed", code=problem.code, message=problem.message)
    return JSONResponse(
        {
            "code": problem.code,
            "message": problem.message,
            "details": problem.details.model_dump(mode="json", exclude_defaults=True),
        },
        status,
        headers={**_headers(problem), **(headers or {})},
    )


def _headers(problem: Problem) -> dict[str, str]:
    match problem.code:
        case "UNAUTHORIZED":
            return {"WWW-Authenticate": "Bearer"}
        case "SERVICE_UNAVAILABLE" | "REQUEST_IN_PROGRESS" | "RATE_LIMITED":
            return {"Retry-After": str(problem.details.retry_after_s or RETRY_AFTER_S)}
        case _:
            return {}


def unexpected(error: Exception) -> Response:
    """The answer to a defect of ours: nothing of its inside but where to find it in the logs."""
    error_id = uuid4().hex
    log.error("defect", error_id=error_id, exc_info=error)
    return answer(
        Problem(
            code="VALIDATION_ERROR",
            message=f"Something went wrong on our side. Look for {error_id} in the gateway's log.",
            details=ProblemDetails(error_id=error_id),
        )
    )


def invalid_request(message: str, *fields: str) -> ProblemError:
    return ProblemError(
        Problem(code="INVALID_REQUEST", message=message, details=ProblemDetails(fields=fields))
    )


async def _refused(_: Request, error: ProblemError) -> Response:
    return answer(error.problem)


async def _invalid(_: Request, error: RequestValidationError) -> Response:
    fields = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
    return answer(
        invalid_request("The request is not valid; `details.fields` says why.", *fields).problem
    )


async def _http(request: Request, error: HTTPException) -> Response:
    code, message = _http_problem(request, error)
    headers = dict(error.headers or {})
    if code == "METHOD_NOT_ALLOWED":
        headers["Allow"] = _allowed(request)
    return answer(Problem(code=code, message=message), headers)


def _allowed(request: Request) -> str:
    """All that is possible at this path; what raised the error knows one route of several."""
    methods: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        match, _ = route.matches(request.scope)
        if match is Match.PARTIAL:
            methods |= route.methods or set()
    return ", ".join(sorted(methods))


def _http_problem(request: Request, error: HTTPException) -> tuple[ProblemCode, str]:
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return "NOT_FOUND", "There is nothing here. /api/openapi.json lists what there is."
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return (
                "METHOD_NOT_ALLOWED",
                f"{request.method} is not possible here. /api/openapi.json lists what is.",
            )
        case _:
            return "INVALID_REQUEST", str(error.detail)


async def _gone(_: Request, __: ClientDisconnect) -> Response:
    log.info("client_gone")
    return Response(status_code=CLIENT_CLOSED_REQUEST)


def install(app: FastAPI) -> None:
    """Answer every failure of this app in our shape."""

    def on(kind: type[E], handle: Callable[[Request, E], Awaitable[Response]]) -> None:
        app.exception_handlers[kind] = handle

    on(ProblemError, _refused)
    on(RequestValidationError, _invalid)
    on(HTTPException, _http)
    on(ClientDisconnect, _gone)


def responses(*codes: ProblemCode) -> Responses:
    """These refusals as the OpenAPI document shows them."""
    by_status: dict[int | str, list[str]] = {}
    for code in codes:
        by_status.setdefault(HTTP_STATUS[code], []).append(f"`{code}`")
    return {
        status: {"model": Problem, "description": " or ".join(names)}
        for status, names in by_status.items()
    }
