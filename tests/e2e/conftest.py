"""One real stack for all of these tests, driven as its users drive it."""

import asyncio
import io
import shutil
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from uuid import UUID

import httpx
import nats
import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from assay_cli.embedded.stack import Stack
from assay_contracts.reports import Report
from assay_contracts.rpc import SkillStatusView
from assay_contracts.validations import ValidationCompleted
from assay_testkit.slow_skill import slow_skill
from assay_testkit.waiting import until

EXAMPLES = Path(__file__).parents[2] / "examples/skills"
LABELLED = Path(__file__).parents[1] / "skills"
PATIENCE_S = 90.0
LOOKS_AT_LEAST_EVERY_S = 1.0
"""How long `ended` waits for a completion: while the bus is down, none is heard."""


class Admin:
    """An admin at the REST API, and an outside system that hears every completion."""

    def __init__(self, stack: Stack, http: httpx.AsyncClient) -> None:
        self.stack = stack
        self.http = http
        self.completed: list[ValidationCompleted] = []
        self._next_completion = asyncio.Event()

    async def hear(self, message: Msg) -> None:
        self.completed.append(ValidationCompleted.model_validate_json(message.data))
        self._next_completion.set()
        self._next_completion = asyncio.Event()

    async def upload(self, content: bytes, filename: str = "skill.zip") -> httpx.Response:
        return await self.http.post(
            "/api/admin/skills/upload", files={"file": (filename, content, "application/zip")}
        )

    async def submit(self, content: bytes) -> UUID:
        answer = await self.upload(content)
        assert answer.status_code == 200, answer.text
        return UUID(answer.json()["skill_id"])

    async def status(self, skill_id: UUID) -> SkillStatusView:
        answer = await self.http.get(f"/api/admin/skills/{skill_id}/validation-status")
        assert answer.status_code == 200, answer.text
        return SkillStatusView.model_validate_json(answer.content)

    async def until(
        self, skill_id: UUID, reached: Callable[[SkillStatusView], bool]
    ) -> SkillStatusView:
        """Ask until it is so; a service that is being brought back answers 503 meanwhile."""

        async def status_if_reached() -> SkillStatusView | None:
            status = await self.status(skill_id)
            return status if reached(status) else None

        return await until(
            status_if_reached,
            why="the validation is that far",
            timeout_s=PATIENCE_S,
            every_s=0.05,
            ignoring=(httpx.TransportError, AssertionError),
        )

    async def ended(self, skill_id: UUID) -> SkillStatusView:
        """Looks again whenever any validation has completed: asking takes time from the stack."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                completion = self._next_completion.wait
                with suppress(httpx.TransportError, AssertionError):
                    status = await self.status(skill_id)
                    if status.step == "done":
                        return status
                with suppress(TimeoutError):
                    await asyncio.wait_for(completion(), LOOKS_AT_LEAST_EVERY_S)

    async def report(self, skill_id: UUID) -> Report:
        answer = await self.http.get(f"/api/admin/skills/{skill_id}/report")
        assert answer.status_code == 200, answer.text
        return Report.model_validate_json(answer.content)

    async def markdown(self, skill_id: UUID) -> str:
        answer = await self.http.get(
            f"/api/admin/skills/{skill_id}/report", headers={"Accept": "text/markdown"}
        )
        assert answer.status_code == 200, answer.text
        return answer.text

    async def completions(self, skill_id: UUID) -> list[ValidationCompleted]:
        """What was said about this skill, once anything was."""
        return await until(
            lambda: [heard for heard in self.completed if heard.skill_id == skill_id],
            why="its completion was announced",
            timeout_s=PATIENCE_S,
        )


def zipped(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder.parent))
    return buffer.getvalue()


@pytest.fixture(scope="session", autouse=True)
def _rates_are_not_limited() -> Iterator[None]:
    """Whole files of tests upload, and fail to sign in, more often than one person would."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ASSAY_UPLOADS_PER_MINUTE", "1000000")
        environment.setenv("ASSAY_AUTH_FAILURES_PER_MINUTE", "1000000")
        # What skills install comes from their own wheels; no test asks an index.
        environment.setenv("PIP_NO_INDEX", "1")
        yield


@asynccontextmanager
async def admin_of(stack: Stack) -> AsyncIterator[Admin]:
    headers = {"Authorization": f"Bearer {stack.admin_token}"}
    outside = await nats.connect(stack.observer_url, max_reconnect_attempts=-1)
    async with httpx.AsyncClient(base_url=stack.url, headers=headers, timeout=60) as http:
        admin = Admin(stack, http)
        await outside.subscribe("validation.completed", cb=admin.hear)
        await outside.flush()
        try:
            yield admin
        finally:
            await outside.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def admin() -> AsyncIterator[Admin]:
    data = Path(tempfile.mkdtemp(prefix="assay-e2e-"))
    try:
        async with Stack(data) as stack, admin_of(stack) as admin:
            yield admin
    finally:
        shutil.rmtree(data, ignore_errors=True)


@pytest.fixture
def make_slow_skill() -> Callable[[str, float], bytes]:
    return slow_skill


@pytest.fixture
def example() -> Callable[[str], bytes]:
    return lambda name: zipped(EXAMPLES / name)


@pytest.fixture
def labelled() -> Callable[[str], bytes]:
    """Skills whose truth is known."""
    return lambda name: zipped(LABELLED / name)


@pytest.fixture(scope="session")
def open_admin() -> Callable[[Stack], AbstractAsyncContextManager[Admin]]:
    return admin_of
