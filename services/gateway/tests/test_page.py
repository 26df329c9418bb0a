"""The admin page as files over HTTP; what it does in a browser is tested in tests/page."""

import httpx
import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def anybody(gateway: str, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
    async with httpx.AsyncClient(base_url=gateway, timeout=20) as client:
        return await client.get(path, headers=headers)


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/page/js/main.js", "text/javascript; charset=utf-8"),
        ("/page/js/views/skill.js", "text/javascript; charset=utf-8"),
        ("/page/css/base.css", "text/css; charset=utf-8"),
        ("/page/words.json", "application/json"),
        ("/page/scoring.json", "application/json"),
        ("/page/mark.svg", "image/svg+xml"),
    ],
)
async def test_anybody_may_read_the_page(gateway: str, path: str, media_type: str) -> None:
    answer = await anybody(gateway, path)

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, media_type)
    policy = {
        name: values
        for name, *values in (
            each.split() for each in answer.headers["Content-Security-Policy"].split(";")
        )
    }
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == ["'self'"]
    assert policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == ["'none'"]
    assert policy["require-trusted-types-for"] == ["'script'"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_file_that_is_known_already_is_not_sent_again(gateway: str) -> None:
    first = await anybody(gateway, "/page/js/main.js")
    second = await anybody(gateway, "/page/js/main.js", {"If-None-Match": first.headers["ETag"]})
    other = await anybody(gateway, "/page/js/api.js", {"If-None-Match": first.headers["ETag"]})

    assert first.headers["Cache-Control"] == "no-cache"
    assert (second.status_code, second.content) == (304, b"")
    assert second.headers["ETag"] == first.headers["ETag"]
    assert other.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/page/",
        "/page/js",
        "/page/nothing.js",
        "/page/../settings.py",
        "/page/..%2fsettings.py",
        "/page/%2e%2e/settings.py",
        "/page/js/..%2f..%2f..%2fapp.py",
        "/page//etc/passwd",
        "/page/js%00.js",
        "/index.html",
    ],
)
async def test_nothing_but_the_page_is_served(gateway: str, path: str) -> None:
    answer = await anybody(gateway, path)

    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


async def test_the_page_cannot_be_written(gateway: str) -> None:
    async with httpx.AsyncClient(base_url=gateway, timeout=20) as client:
        answer = await client.post("/", content=b"<script>")
        head = await client.head("/")

    assert (answer.status_code, answer.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert (head.status_code, head.content) == (200, b"")
