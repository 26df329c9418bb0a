"""One real stack and one real browser for the tests of the admin page."""

import base64
import io
import os
import shutil
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Locator, Page, async_playwright, expect

from assay_cli.embedded.stack import Stack
from assay_testkit.servers import private_folder
from assay_testkit.waiting import until

SCREENSHOTS = Path(__file__).parents[2] / ".screenshots"
PATIENCE_S = 60.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
REFUSED_REQUEST = "Failed to load resource: the server responded with a status of "
"""The browser says this of every refusal; the page shows those, and tests look at what it shows."""

Theme = Literal["light", "dark"]
Language = Literal["en", "zh"]

expect.set_options(timeout=PATIENCE_S * 1000)


def packed(name: str, files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(f"{name}/{path}", content)
    return buffer.getvalue()


class Admin:
    """The API, to prepare what a test needs and to see what came of it."""

    def __init__(self, stack: Stack, http: httpx.AsyncClient) -> None:
        self.stack = stack
        self._http = http

    async def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = await self._http.request(method, f"/api/admin/{path}", **more)
        assert answer.is_success, answer.text
        return answer.json()

    async def upload(self, content: bytes) -> str:
        skill: str = (await self.ask("POST", "skills/upload", files={"file": content}))["skill_id"]
        return skill

    async def validated(self, content: bytes) -> str:
        skill = await self.upload(content)
        await self.ended(skill)
        return skill

    async def ended(self, skill: str) -> None:
        async def is_done() -> bool:
            status = await self.ask("GET", f"skills/{skill}/validation-status")
            return bool(status["step"] == "done")

        await until(is_done, why="the validation has ended", timeout_s=PATIENCE_S * 2, every_s=0.1)

    async def skills(self, **query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.ask("GET", "skills", params=query))["skills"]
        return found

    async def approved(self, content: bytes, name: str) -> str:
        """The skill of this name, approved, whatever other tests have done to it."""
        known = {each["name"]: each for each in await self.skills(size="100")}
        if name not in known:
            skill = await self.validated(content)
            await self.ask("POST", f"skills/{skill}/approve")
            return skill
        if known[name]["status"] == "rollback_pending":
            newest = (await self.ask("GET", "images"))["versions"][0]["version"]
            await self.ask("POST", "images/rollback", json={"target_version": newest})
        return str(known[name]["skill_id"])


class Visitor:
    """Somebody at the page. Everything the browser complains of is kept in `complaints`."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        # Violations of the content security policy are errors of the console too.
        if message.type == "error" and not message.text.startswith(REFUSED_REQUEST):
            self.complaints.append(message.text)

    async def go(self, place: str) -> None:
        """Open a place of the page as if its address had been typed."""
        await self.page.goto("about:blank")
        await self.page.goto(f"{self.address}/#{place}")
        await self.settled()

    async def settled(self) -> None:
        await expect(self.page.locator("main h1")).to_be_attached()
        await expect(self.page.locator("main[aria-busy], main .loading")).to_have_count(0)

    async def sign_in(self, token: str) -> None:
        await self.page.goto(self.address)
        await self.page.locator("#token").fill(token)
        await self.page.locator("form button").click()

    async def drop(self, target: Locator, name: str, content: bytes) -> None:
        """Drop a file from the desktop onto `target`."""
        files = await self.page.evaluate_handle(
            """([name, content]) => {
                const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
                const transfer = new DataTransfer();
                transfer.items.add(new File([bytes], name, { type: "application/zip" }));
                return transfer;
            }""",
            [name, base64.b64encode(content).decode()],
        )
        for event in ("dragenter", "dragover", "drop"):
            await target.dispatch_event(event, {"dataTransfer": files})

    async def photograph(self, name: str) -> None:
        """For a person to look at."""
        await self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin() -> AsyncIterator[Admin]:
    with private_folder() as data:
        async with Stack(data) as stack:
            headers = {"Authorization": f"Bearer {stack.admin_token}"}
            async with httpx.AsyncClient(
                base_url=stack.url, headers=headers, timeout=PATIENCE_S
            ) as http:
                yield Admin(stack, http)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.fail(
            "The tests of the page need Chromium. Install it (Debian: apt-get install chromium), "
            'or leave them out: make test ARGS="--ignore=tests/page".'
        )
    SCREENSHOTS.mkdir(exist_ok=True)
    # As root, Chromium has no sandbox of its own; it only ever sees the loopback here.
    arguments = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        await browser.close()


class Door:
    """Lets visitors in, each with a browser profile of its own."""

    def __init__(self, browser: Browser, admin: Admin) -> None:
        self._browser = browser
        self._admin = admin
        self.visitors: list[Visitor] = []

    async def stranger(self, theme: Theme = "light", language: Language = "en") -> Visitor:
        context = await self._browser.new_context(
            color_scheme=theme,
            locale={"en": "en-GB", "zh": "zh-CN"}[language],
            viewport={"width": 1280, "height": 900},
        )
        context.set_default_timeout(PATIENCE_S * 1000)
        visitor = Visitor(await context.new_page(), self._admin.stack.url)
        self.visitors.append(visitor)
        return visitor

    async def admin(self, theme: Theme = "light", language: Language = "en") -> Visitor:
        visitor = await self.stranger(theme, language)
        await visitor.sign_in(self._admin.stack.admin_token)
        await expect(visitor.page.locator(".nav")).to_be_visible()
        return visitor


@pytest_asyncio.fixture(loop_scope="module")
async def door(browser: Browser, admin: Admin) -> AsyncIterator[Door]:
    door = Door(browser, admin)
    yield door
    for visitor in door.visitors:
        await visitor.page.context.close()
    assert [each for visitor in door.visitors for each in visitor.complaints] == []


@pytest.fixture(scope="session")
def pack() -> Callable[[str, dict[str, str]], bytes]:
    return packed
