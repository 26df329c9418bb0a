"""The gateway's REST API as the command uses it."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import BinaryIO, Final, Self
from uuid import UUID

import httpx
from httpx_sse import SSEError, aconnect_sse
from pydantic import ValidationError

from assay_cli.outcome import CommandError, Exit
from assay_cli.text import one_line
from assay_contracts.base import Model
from assay_contracts.rpc import Problem, SkillStatusView

API: Final = "/api/admin"
TIMEOUT: Final = httpx.Timeout(10.0, read=90.0)
STREAM_TIMEOUT: Final = httpx.Timeout(10.0, read=30.0)
"""The gateway says something every ten seconds at least."""
POLL_S: Final = 0.5
UNREACHABLE_AFTER_S: Final = 60.0
ENDED: Final = frozenset({"completed", "failed", "inconclusive"})
TRY_LATER: Final = frozenset({408, 429})


class Uploaded(Model):
    """What the command needs of the answer to an upload."""

    skill_id: UUID
    name: str
    format_warnings: tuple[str, ...] = ()


class Refused(CommandError):
    """The gateway answered with a problem."""

    def __init__(self, problem: Problem, status: int) -> None:
        ours = status >= httpx.codes.INTERNAL_SERVER_ERROR or status in TRY_LATER
        super().__init__(
            f"{problem.code}: {one_line(problem.message)}",
            Exit.INCONCLUSIVE if ours else Exit.BAD_INPUT,
            details=_details(problem),
        )
        self.problem = problem


class Unreachable(CommandError):
    def __init__(self, url: str, error: Exception) -> None:
        super().__init__(
            f"Assay at {url} cannot be reached ({one_line(str(error)) or type(error).__name__}):"
            " see that it runs and that the address is right.",
            Exit.INCONCLUSIVE,
        )


class AssayClient:
    """An async context manager; every method raises Refused or Unreachable."""

    def __init__(self, url: str, token: str, *, through_proxies: bool) -> None:
        self._url = url.rstrip("/")
        self._http = httpx.AsyncClient(
            base_url=f"{self._url}{API}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT,
            trust_env=through_proxies,
        )

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._http.__aexit__(kind, error, traceback)

    async def upload(self, filename: str, content: BinaryIO) -> Uploaded:
        answer = await self._ask(
            "POST", "/skills/upload", files={"file": (filename, content, "application/zip")}
        )
        return Uploaded.model_validate_json(answer.content)

    async def status(self, skill_id: UUID) -> SkillStatusView:
        answer = await self._ask("GET", f"/skills/{skill_id}/validation-status")
        return SkillStatusView.model_validate_json(answer.content)

    async def report_json(self, skill_id: UUID) -> bytes:
        accept = {"Accept": "application/json"}
        return (await self._ask("GET", f"/skills/{skill_id}/report", headers=accept)).content

    async def report_markdown(self, skill_id: UUID) -> bytes:
        accept = {"Accept": "text/markdown"}
        return (await self._ask("GET", f"/skills/{skill_id}/report", headers=accept)).content

    async def follow(self, skill_id: UUID) -> AsyncIterator[SkillStatusView]:
        """Every status up to the last, live; while the live stream is broken, by asking.

        A gateway that does not answer is waited for, since a supervisor may bring it back.
        """
        answered = time.monotonic()
        while True:
            try:
                async for status in self._stream(skill_id):
                    answered = time.monotonic()
                    yield status
                    if status.validation_stage in ENDED:
                        return
            except (httpx.HTTPError, SSEError, ValidationError):
                pass  # whatever is wrong with the stream, asking tells it better
            try:
                status = await self.status(skill_id)
            except CommandError as error:
                waited_s = time.monotonic() - answered
                if error.exit_code != Exit.INCONCLUSIVE or waited_s > UNREACHABLE_AFTER_S:
                    raise
            else:
                answered = time.monotonic()
                yield status
                if status.validation_stage in ENDED:
                    return
            await asyncio.sleep(POLL_S)

    async def _stream(self, skill_id: UUID) -> AsyncIterator[SkillStatusView]:
        async with aconnect_sse(
            self._http, "GET", f"/skills/{skill_id}/events", timeout=STREAM_TIMEOUT
        ) as source:
            source.response.raise_for_status()
            async for event in source.aiter_sse():
                if event.event == "status":
                    yield SkillStatusView.model_validate_json(event.data)

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        files: dict[str, tuple[str, BinaryIO, str]] | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        try:
            answer = await self._http.request(method, path, files=files, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(self._url, error) from error
        if answer.is_success:
            return answer
        raise Refused(_problem(answer), answer.status_code)


def _problem(answer: httpx.Response) -> Problem:
    try:
        return Problem.model_validate_json(answer.content)
    except ValidationError:
        return Problem(
            code="SERVICE_UNAVAILABLE" if answer.is_server_error else "INVALID_REQUEST",
            message=f"HTTP {answer.status_code} without a reason that Assay would give:"
            " see that the address is Assay's.",
        )


def _details(problem: Problem) -> tuple[str, ...]:
    findings = (
        f"{finding.severity}: {_place(finding.path, finding.line)}{one_line(finding.message)}"
        f" {one_line(finding.fix)}"
        for finding in problem.details.findings
    )
    return (*findings, *(one_line(field) for field in problem.details.fields))


def _place(path: str | None, line: int | None) -> str:
    if path is None:
        return ""
    return f"{one_line(path)}:{line}: " if line else f"{one_line(path)}: "


def as_document(content: bytes) -> str:
    """The same JSON, indented for people who read it all the same."""
    return json.dumps(json.loads(content), indent=2, ensure_ascii=False)
