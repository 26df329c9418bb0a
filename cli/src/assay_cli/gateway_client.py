"""The gateway's REST API as the command uses it."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import BinaryIO, Final, Self, TypeVar
from uuid import UUID

import httpx
from httpx_sse import ServerSentEvent, SSEError, aconnect_sse
from pydantic import ValidationError

from assay_cli.connection import Connection
from assay_cli.exit_codes import CommandError, Exit
from assay_cli.signals import run_until_stopped
from assay_contracts.base import Model
from assay_contracts.reports import Language
from assay_contracts.rest import ReportForm, UploadAnswer
from assay_contracts.rpc import Problem, SkillPage, SkillStatusView
from assay_contracts.skills import ENDED_STAGES
from assay_reporting.text import one_line
from assay_skillkit.names import normal_name

API: Final = "/api/admin"
TIMEOUT: Final = httpx.Timeout(10.0, read=90.0)
STREAM_TIMEOUT: Final = httpx.Timeout(10.0, read=30.0)
"""The gateway says something every ten seconds at least."""
POLL_S: Final = 0.5
PAGE_SIZE: Final = 100
UNREACHABLE_AFTER_S: Final = 60.0
TRY_LATER: Final = frozenset({408, 429})

Parameters = Mapping[str, str | int | Sequence[str]]

M = TypeVar("M", bound=Model)
T = TypeVar("T")


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
        # The message about a request of ours that cannot be sent has the token in it.
        reason = "" if isinstance(error, httpx.LocalProtocolError) else one_line(str(error))
        super().__init__(
            f"Assay at {url} cannot be reached ({reason or type(error).__name__}):"
            " see that it runs and that the address is right.",
            Exit.INCONCLUSIVE,
        )


class GatewayClient:
    """An async context manager; every method raises Refused or Unreachable."""

    def __init__(self, connection: Connection) -> None:
        """Raises CommandError for an address that is none."""
        self._url = connection.url.rstrip("/")
        self._heard_at = time.monotonic()
        self._http = httpx.AsyncClient(
            base_url=_base(self._url),
            headers={"Authorization": f"Bearer {connection.token}"},
            timeout=TIMEOUT,
            trust_env=not connection.on_this_machine,
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

    async def upload(self, filename: str, content: BinaryIO) -> UploadAnswer:
        answer = await self._ask(
            "POST", "/skills/upload", files={"file": (filename, content, "application/zip")}
        )
        return parsed(answer.content, UploadAnswer)

    async def get(self, path: str, parameters: Parameters | None = None) -> bytes:
        """The JSON that lies there."""
        return (await self._ask("GET", path, parameters=parameters)).content

    async def read(self, path: str, kind: type[M], parameters: Parameters | None = None) -> M:
        """As `get`, as a value of that kind."""
        return parsed(await self.get(path, parameters), kind)

    async def send(self, method: str, path: str, body: Mapping[str, str] | None = None) -> bytes:
        """Have something done; what the gateway says of it."""
        return (await self._ask(method, path, body=body)).content

    async def status(self, skill_id: UUID) -> SkillStatusView:
        return await self.read(f"/skills/{skill_id}/validation-status", SkillStatusView)

    async def report(self, skill_id: UUID, form: ReportForm, language: Language = "en") -> bytes:
        """The report on the newest validation of a skill."""
        wanted = {"format": form} if language == "en" else {"format": form, "language": language}
        return await self.get(f"/skills/{skill_id}/report", wanted)

    async def skill_id(self, name_or_id: str) -> UUID:
        """Whose name or id that is. Raises CommandError if nobody's."""
        try:
            return UUID(name_or_id)
        except ValueError:
            pass
        found = await self.find_skill(name_or_id)
        if found is None:
            raise CommandError(
                f"No skill is called '{one_line(name_or_id)}': `assay skills list` shows the"
                " skills there are.",
                Exit.BAD_INPUT,
            )
        return found

    async def find_skill(self, called: str) -> UUID | None:
        """The skill of that name; None if there is none."""
        name, page = normal_name(called), 0
        while True:
            page += 1
            found = await self.read(
                "/skills", SkillPage, {"q": name, "page": page, "size": PAGE_SIZE}
            )
            for skill in found.skills:
                if skill.name == name:
                    return skill.skill_id
            if page * PAGE_SIZE >= found.total:
                return None

    async def follow_validation(self, skill_id: UUID) -> AsyncGenerator[SkillStatusView, None]:
        """Every status up to the last, live; while the live stream is broken, by asking.

        A gateway that does not answer is waited for, since a supervisor may bring it back.
        """
        self._heard_at = time.monotonic()
        while True:
            try:
                async with aclosing(self._statuses(skill_id)) as statuses:
                    async for status in statuses:
                        yield status
                        if status.validation_stage in ENDED_STAGES:
                            return
            except (httpx.HTTPError, SSEError, ValidationError, Refused):
                pass  # asking, below, says better what is wrong
            try:
                status = await self.status(skill_id)
            except CommandError as error:
                if error.exit_code != Exit.INCONCLUSIVE or self._is_gone():
                    raise
            else:
                self._heard_at = time.monotonic()
                yield status
                if status.validation_stage in ENDED_STAGES:
                    return
            await asyncio.sleep(POLL_S)

    async def follow_events(
        self, parameters: Parameters, last_id: str | None
    ) -> AsyncGenerator[ServerSentEvent, None]:
        """Public events, from after `last_id` on; without it from now on. Never ends by itself."""
        self._heard_at = time.monotonic()
        while True:
            try:
                async with aclosing(self._events("/events", parameters, last_id)) as events:
                    async for event in events:
                        last_id = event.id or last_id
                        yield event
            except (httpx.HTTPError, SSEError) as error:
                if self._is_gone():
                    raise Unreachable(self._url, error) from error
            await asyncio.sleep(POLL_S)

    def _is_gone(self) -> bool:
        return time.monotonic() - self._heard_at > UNREACHABLE_AFTER_S

    async def _statuses(self, skill_id: UUID) -> AsyncGenerator[SkillStatusView, None]:
        async with aclosing(self._events(f"/skills/{skill_id}/events", {}, None)) as events:
            async for event in events:
                if event.event == "status":
                    yield SkillStatusView.model_validate_json(event.data)

    async def _events(
        self, path: str, parameters: Parameters, last_id: str | None
    ) -> AsyncGenerator[ServerSentEvent, None]:
        async with aconnect_sse(
            self._http,
            "GET",
            path,
            params=dict(parameters),
            headers={"Last-Event-ID": last_id} if last_id else {},
            timeout=STREAM_TIMEOUT,
        ) as source:
            if source.response.is_client_error:
                await source.response.aread()
                raise Refused(_problem(source.response), source.response.status_code)
            source.response.raise_for_status()
            try:
                async for event in source.aiter_sse():
                    yield event
            finally:
                # A stream that was open is an answer, however quiet it was.
                self._heard_at = time.monotonic()

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        parameters: Parameters | None = None,
        body: Mapping[str, str] | None = None,
        files: dict[str, tuple[str, BinaryIO, str]] | None = None,
    ) -> httpx.Response:
        try:
            answer = await self._http.request(
                method, path, params=dict(parameters or {}), json=body, files=files
            )
        except httpx.HTTPError as error:
            raise Unreachable(self._url, error) from error
        if answer.is_success:
            return answer
        raise Refused(_problem(answer), answer.status_code)


def _base(url: str) -> httpx.URL:
    try:
        base = httpx.URL(f"{url}{API}")
    except httpx.InvalidURL as error:
        raise _no_address(url) from error
    if base.scheme not in {"http", "https"} or not base.host:
        raise _no_address(url)
    return base


def _no_address(url: str) -> CommandError:
    return CommandError(
        f"'{one_line(url)}' is no address of an Assay: it looks like https://assay.example:8002.",
        Exit.BAD_INPUT,
    )


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


def parsed(content: bytes, kind: type[M]) -> M:
    """Raises CommandError."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise CommandError(
            "The answer cannot be read: this command and the gateway are of different versions.",
            Exit.INCONCLUSIVE,
        ) from error


def with_client(connection: Connection, work: Callable[[GatewayClient], Awaitable[T]]) -> T:
    """Run `work` to its end. Raises CommandError or Interrupted."""

    async def run() -> T:
        async with GatewayClient(connection) as client:
            return await work(client)

    return run_until_stopped(run())
