"""The admin page in a real browser, on a real stack, as an admin uses it."""

import asyncio
import os
import re
import signal
from typing import TYPE_CHECKING, Any, Final

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import (  # type: ignore[import-untyped]
    Axe,
)
from playwright.async_api import FilePayload, Locator, Page, Route, expect

from assay_contracts.grades import DONE_GRADE, PARTLY_DONE_GRADE
from assay_contracts.scores import DIMENSIONS, OVERALL_PASS_MARK
from assay_scorer.domain import progress, review
from assay_testkit.slow_skill import slow_skill

if TYPE_CHECKING:
    from tests.page.conftest import Admin, Door, Language, Theme, Visitor

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

LONG_MS: Final = 150_000
"""For what a whole validation is waited for."""
MARKUP: Final = '<img src=x onerror="window.caught=1"><script>window.caught=1</script><b>bold</b>'


def listing(name: str, what: str, extra: str, before: str) -> dict[str, str]:
    """A skill that lists the lines of a file: its script first does `before`.

    `what` it is about must be its own: with an approved skill about the same, either may be used.
    """
    return {
        "SKILL.md": f"""---
name: {name}
{extra}
---

# {what}

List the {what}:

```bash
python3 scripts/list.py notes.txt --output list.json
```
""",
        "scripts/list.py": f"""import json, pathlib, sys, time
{before}
lines = pathlib.Path(sys.argv[1]).read_text().splitlines()
pathlib.Path(sys.argv[3]).write_text(json.dumps(lines))
""",
    }


WATCHED: Final = listing(
    "guest-lister",
    "guests in a guest book",
    "description: Lists the guests in a guest book as JSON.\ncolour: blue",
    "time.sleep(5)",
)
HOSTILE: Final = {
    **listing(
        "bird-lister",
        "birds in a field diary",
        f"description: 'Lists the birds in a field diary as JSON. {MARKUP}'\n"
        f"license: '{MARKUP}'\ncolour: '{MARKUP}'",
        f"print({MARKUP!r}); pathlib.Path('<b>made<b>.txt').write_text({MARKUP!r})",
    ),
    "notes/<b>bold.txt": MARKUP,
}
BAD: Final = {"SKILL.md": f"---\nname: '{MARKUP}'\ndescription: ''\n---\n"}


@pytest.fixture(scope="module")
def counter() -> bytes:
    return slow_skill("line-counter", 0)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hostile(admin: "Admin", pack: Any) -> str:
    """A validated skill whose words, files and output are full of markup."""
    return await admin.validated(pack("bird-lister", HOSTILE))


@pytest_asyncio.fixture(loop_scope="module")
async def approved(admin: "Admin", counter: bytes) -> str:
    return await admin.approved(counter, "line-counter")


def badge(page: Page, words: str) -> Locator:
    return page.locator(".title-line .badge", has_text=re.compile(f"^({words})$"))


async def confirm(page: Page, words: str) -> None:
    await page.get_by_role("dialog").get_by_role("button", name=words, exact=True).click()


async def test_signing_in_and_out(admin: "Admin", door: "Door") -> None:
    visitor = await door.stranger()
    page = visitor.page
    await visitor.sign_in("not the token")
    await expect(page.get_by_role("alert")).to_contain_text("not valid")
    assert await page.evaluate("sessionStorage.length") == 0

    await page.get_by_label("Admin token").fill(admin.stack.admin_token)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Skills", level=1)).to_be_focused()

    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Admin token")).to_be_focused()
    assert await page.evaluate("sessionStorage.length") == 0


async def test_a_token_that_is_no_longer_accepted_leads_back_to_signing_in(door: "Door") -> None:
    visitor = await door.admin()
    await visitor.page.evaluate("sessionStorage.setItem('assay.token', 'expired')")
    await visitor.page.get_by_role("link", name="Audit log").click()

    await expect(visitor.page.get_by_role("alert")).to_contain_text("signed out")
    await expect(visitor.page.get_by_label("Admin token")).to_be_focused()


async def test_an_address_of_somebody_who_is_signed_out_is_kept_for_later(
    admin: "Admin", door: "Door"
) -> None:
    visitor = await door.stranger()
    page = visitor.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(visitor.address)
    await expect(page.get_by_label("Admin token")).to_be_focused()
    for place in ("#/audit", "#/upload"):
        await page.evaluate("(place) => { location.hash = place; }", place)
    await page.get_by_label("Admin token").fill(admin.stack.admin_token)
    assert not [url for url in asked if "/api/" in url]
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Upload", level=1)).to_be_focused()


async def test_nobody_asks_with_an_empty_token(door: "Door") -> None:
    visitor = await door.stranger()
    await visitor.page.goto(visitor.address)
    async with visitor.page.expect_request("**/api/admin/skills") as sent:
        await visitor.page.evaluate(
            """async () => {
                const { send } = await import("/page/js/api.js");
                await send("GET", "skills").catch(() => {});
            }"""
        )
    assert "authorization" not in await (await sent.value).all_headers()


async def test_from_upload_to_approval(admin: "Admin", door: "Door", pack: Any) -> None:
    visitor = await door.admin()
    page = visitor.page
    await page.get_by_role("link", name="Upload", exact=True).click()

    bad = pack("bad-one", BAD)
    await visitor.drop(page.locator(".drop"), f"{MARKUP}.zip", bad)
    refused = page.locator("article", has_text=MARKUP)
    await expect(refused.get_by_text("Refused")).to_be_visible()
    await expect(refused.get_by_role("alert")).to_contain_text("Mend what is listed")
    assert await refused.locator(".finding").count() >= 2

    good = pack("guest-lister", WATCHED)
    await page.locator("#files").set_input_files(
        FilePayload(name="good.zip", mimeType="application/zip", buffer=good)
    )
    accepted = page.locator("article", has_text="good.zip")
    await expect(accepted.get_by_text("Accepted")).to_be_visible()
    await expect(accepted.locator(".finding")).to_have_count(1)

    await accepted.get_by_role("link", name="Watch its validation").click()
    await expect(page.locator(".step.present")).to_be_visible()
    await expect(page.locator(".progress").get_by_text("Live")).to_be_visible()
    await visitor.photograph("progress")
    await expect(badge(page, "Passed")).to_be_visible(timeout=LONG_MS)
    await expect(page.get_by_role("img", name="Overall score 100.0 of 100")).to_be_visible()

    await page.get_by_role("button", name="Approve").click()
    await confirm(page, "Approve")
    await expect(badge(page, "Approved")).to_be_visible()
    await expect(page.locator(".toast")).to_contain_text("guest-lister is approved as v1.")
    (skill,) = await admin.skills(q="guest-lister")
    assert skill["status"] == "approved"
    await page.get_by_role("link", name="Upload", exact=True).click()
    await visitor.photograph("upload")


async def test_reading_the_report(admin: "Admin", door: "Door", approved: str) -> None:
    visitor = await door.admin()
    page = visitor.page
    await page.get_by_role("searchbox", name="Search skills").fill("line-counter")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await page.get_by_role("link", name="line-counter").click()

    await expect(page.get_by_text("No LLM took part")).to_be_visible()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Markdown").click()
    file = await download.value
    assert file.suggested_filename == "report-line-counter.md"
    assert (await file.path()).read_text().startswith("# ")

    await page.get_by_role("tab", name="Tasks").click()
    task = page.locator("article", has_text="Task t1")
    await expect(task.locator(".grade")).to_have_text([re.compile("5 of 5")] * 2)
    await task.get_by_text("Trace of what the agent did").first.click()
    await expect(task.locator(".trace-steps > li").first).to_be_visible()
    await expect(task.locator(".trace-steps").first).to_contain_text("count.py")

    await page.get_by_role("tab", name="History").click()
    await expect(page.locator("tbody tr")).to_have_count(1)
    await page.get_by_role("tab", name="Audit log").click()
    await expect(page.locator("tbody tr", has_text="Approved")).to_have_count(1)


async def test_reading_the_report_of_one_validation_among_others(
    admin: "Admin", door: "Door", hostile: str
) -> None:
    before = (await admin.ask("GET", f"skills/{hostile}"))["validation_id"]
    await admin.ask("POST", f"skills/{hostile}/validate")
    await admin.ended(hostile)
    visitor = await door.admin()
    page = visitor.page
    await visitor.go(f"/skills/{hostile}/history")
    await expect(page.locator("tbody tr")).to_have_count(2)
    await page.locator("tbody tr").last.get_by_role("link").click()

    title = page.get_by_role("heading", level=1)
    await expect(title).to_contain_text("Validation of bird-lister")
    await expect(title).to_be_focused()
    assert f"/validations/{before}" in page.url
    await expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    async with page.expect_download() as download:
        await page.get_by_role("button", name="JSON").click()
    assert before in (await (await download.value).path()).read_text()

    await page.get_by_role("tab", name="Tasks").click()
    await page.reload()
    await expect(page.get_by_role("tabpanel", name="Tasks")).to_contain_text("Task t1")
    await page.get_by_role("link", name="History").click()
    await expect(page.get_by_role("tabpanel", name="History")).to_be_visible()
    await page.go_back()
    await examine(visitor, "validation")


async def test_cancelling_rejecting_and_deleting(admin: "Admin", door: "Door") -> None:
    skill = await admin.upload(slow_skill("long-counter", 60))
    visitor = await door.admin()
    page = visitor.page
    await visitor.go(f"/skills/{skill}")
    await page.get_by_role("button", name="Cancel validation").click()
    await confirm(page, "Cancel validation")
    await expect(badge(page, "Inconclusive")).to_be_visible()

    await page.get_by_role("button", name="Reject").click()
    await page.get_by_label("Reason").fill("Too slow <b>for us</b>.")
    await confirm(page, "Reject")
    await expect(badge(page, "Rejected")).to_be_visible()
    await page.get_by_role("tab", name="Audit log").click()
    await expect(page.get_by_text("Too slow <b>for us</b>.")).to_be_visible()

    await page.get_by_role("button", name="Delete").click()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="Delete")).to_be_focused()
    await page.get_by_role("button", name="Delete").click()
    await confirm(page, "Delete")
    await expect(page.get_by_role("heading", name="Skills", level=1)).to_be_focused()
    assert await admin.skills(q="long-counter") == []


async def test_a_refusal_is_shown_with_what_to_do(admin: "Admin", door: "Door") -> None:
    visitor = await door.admin()
    page = visitor.page
    skill = await admin.upload(slow_skill("twice-rejected", 60))
    await admin.ask("POST", f"skills/{skill}/cancel")
    await visitor.go(f"/skills/{skill}")
    await expect(badge(page, "Inconclusive")).to_be_visible()
    await admin.ask("POST", f"skills/{skill}/reject", json={"reason": "Meanwhile."})

    await page.get_by_role("button", name="Reject").click()
    await page.get_by_label("Reason").fill("Too late.")
    await confirm(page, "Reject")
    await expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("is rejected")
    await page.keyboard.press("Escape")

    await admin.ask("DELETE", f"skills/{skill}")
    await visitor.go(f"/skills/{skill}")
    await expect(page.get_by_role("alert")).to_contain_text("go back to the skills")
    await expect(page.get_by_role("button", name="Try again")).to_be_visible()


async def test_progress_goes_on_when_the_gateway_was_away(admin: "Admin", door: "Door") -> None:
    skill = await admin.upload(slow_skill("patient-counter", 8))
    visitor = await door.admin()
    await visitor.go(f"/skills/{skill}")
    await expect(visitor.page.locator(".progress").get_by_text("Live")).to_be_visible()
    # What the browser says of connections that are gone is no fault of the page.
    heard = list(visitor.complaints)
    os.kill(admin.stack.pid("gateway"), signal.SIGKILL)

    await expect(badge(visitor.page, "Passed|Failed")).to_be_visible(timeout=LONG_MS)
    assert all("net::ERR" in each for each in visitor.complaints[len(heard) :])
    visitor.complaints[:] = heard


async def test_a_full_test(admin: "Admin", door: "Door", approved: str) -> None:
    visitor = await door.admin()
    page = visitor.page
    await page.get_by_role("link", name="Full tests").click()
    await page.get_by_role("button", name="Start a full test").click()
    await confirm(page, "Start a full test")

    await expect(page.get_by_role("heading", name="Full test", level=1)).to_be_focused()
    await visitor.photograph("full-test-running")
    await expect(badge(page, "Completed")).to_be_visible(timeout=LONG_MS)
    row = page.locator("tbody tr", has_text="line-counter")
    await expect(row.get_by_text("Passed")).to_be_visible()
    await visitor.photograph("full-test")
    (test, *_) = (await admin.ask("GET", "full-tests"))["full_tests"]
    assert (test["status"], test["started_by"]) == ("completed", "admin")


async def test_rolling_back_shows_first_what_it_affects(
    admin: "Admin", door: "Door", approved: str
) -> None:
    visitor = await door.admin()
    page = visitor.page
    before = await admin.ask("GET", "images")
    await visitor.go("/runtime")
    await page.get_by_role("button", name="Make v1.0 current").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.locator(".names")).to_contain_text("line-counter")
    await visitor.photograph("rollback")
    assert (await admin.ask("GET", "images"))["current_version"] == before["current_version"]

    await confirm(page, "Make v1.0 current")
    await expect(page.locator("tbody tr", has=page.locator(".badge.good"))).to_contain_text("v1.0")
    await visitor.go(f"/skills/{approved}")
    await expect(badge(page, "Rolled back")).to_be_visible()


async def test_markup_from_skills_is_shown_as_text(door: "Door", hostile: str) -> None:
    visitor = await door.admin()
    page = visitor.page
    await visitor.go("/skills?q=bird-lister")
    await expect(page.locator(".skill-cell p")).to_contain_text("<b>bold</b>")
    shown = {
        "": "<b>bold</b>",
        "/tasks": "<b>made<b>.txt",
        "/network": "No network calls",
        "/dependencies": "no packages",
        "/history": "100.0",
        "/contents": "notes/<b>bold.txt",
        "/audit": "bird-lister",
    }
    for tab, words in shown.items():
        await visitor.go(f"/skills/{hostile}{tab}")
        await expect(page.locator("main")).to_contain_text(words)
        for details in await page.locator("details:not(.run-part details)").all():
            await details.evaluate("(each) => each.setAttribute('open', '')")
        for trace in await page.locator("details.trace").all():
            await trace.locator("summary").click()
            await expect(trace.locator(".trace-steps")).to_contain_text("<b>bold</b>")
        foreign = "main :is(script, b, u, iframe, object, style, form, img, [onerror], [style])"
        assert await page.locator(foreign).count() == 0
    assert await page.evaluate("window.caught") is None


async def test_the_report_says_no_more_than_is_known(door: "Door", hostile: str) -> None:
    visitor = await door.admin()
    page = visitor.page

    async def changed(route: Route) -> None:
        answer = await route.fetch()
        report = await answer.json()
        report["models"][0]["model"] = "anthropic:a-model"
        for run in report["runs"]:
            run["sandbox"] = None
        await route.fulfill(response=answer, json=report)

    await visitor.go(f"/skills/{hostile}/network")
    await expect(
        page.get_by_text("The runs that were watched tried no network call")
    ).to_be_visible()
    await page.route("**/report", changed)
    await visitor.go(f"/skills/{hostile}/network")
    await expect(page.get_by_text("No run was watched")).to_be_visible()
    await page.get_by_role("tab", name="Overview").click()
    await expect(page.get_by_text("anthropic:a-model")).to_be_visible()
    await expect(page.get_by_text("No LLM took part")).to_have_count(0)


@pytest.mark.parametrize("succeeds", [True, False])
async def test_leaving_a_dialog_does_not_hide_what_came_of_it(
    door: "Door", hostile: str, succeeds: bool
) -> None:
    visitor = await door.admin()
    page = visitor.page
    left = asyncio.Event()

    async def answered(route: Route) -> None:
        await left.wait()
        problem = {"code": "INVALID_STATUS_TRANSITION", "message": "Meanwhile."}
        await route.fulfill(
            status=200 if succeeds else 400, json={"name": "bird-lister"} if succeeds else problem
        )

    await page.route("**/reject", answered)
    await visitor.go(f"/skills/{hostile}")
    await page.get_by_role("button", name="Reject").click()
    await page.get_by_label("Reason").fill("No.")
    await confirm(page, "Reject")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    left.set()
    if succeeds:
        await expect(page.locator(".toast")).to_contain_text("bird-lister")
    else:
        await expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("Meanwhile.")


async def test_what_the_api_refuses_after_a_click_is_shown(door: "Door", hostile: str) -> None:
    visitor = await door.admin()
    page = visitor.page
    defect = {"code": "VALIDATION_ERROR", "message": "Something went wrong."}

    async def first_page_only(route: Route) -> None:
        if "page=1" not in route.request.url:
            await route.fulfill(status=500, json=defect)
            return
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), "total": 1000})

    for pages in ("audit", "full-tests", f"skills/{hostile}/validations"):
        await page.route(f"**/api/admin/{pages}?*page=*", first_page_only)
    await page.route(
        "**/api/admin/skills?status=approved*",
        lambda route: route.fulfill(status=500, json=defect),
    )
    for place in (
        "/audit",
        "/full-tests",
        f"/skills/{hostile}/history",
        f"/skills/{hostile}/audit",
    ):
        await visitor.go(place)
        await page.get_by_role("button", name="Next").click()
        await expect(page.get_by_role("alert")).to_contain_text("Something went wrong.")
        await expect(page.get_by_role("button", name="Try again")).to_be_focused()
    await visitor.go("/full-tests")
    await page.get_by_role("button", name="Start a full test").click()
    await expect(page.get_by_role("alert")).to_contain_text("Something went wrong.")


async def test_what_is_shown_anew_keeps_the_focus(admin: "Admin", door: "Door") -> None:
    skill = await admin.upload(slow_skill("steady-counter", 60))
    visitor = await door.admin()
    page = visitor.page
    await visitor.go(f"/skills/{skill}/contents")
    await expect(page.locator(".card.progress")).to_be_visible()
    await page.get_by_role("tab", name="Contents").focus()
    await admin.ask("POST", f"skills/{skill}/cancel")

    await expect(badge(page, "Inconclusive")).to_be_visible()
    await expect(page.locator(".card.progress")).to_have_count(0)
    await expect(page.get_by_role("tab", name="Contents")).to_be_focused()


async def test_what_was_typed_does_not_follow_to_another_place(door: "Door") -> None:
    visitor = await door.admin()
    page = visitor.page
    await page.clock.install()
    await visitor.go("/skills")
    await page.get_by_role("searchbox").fill("counter")
    await page.evaluate("location.hash = '#/runtime'")
    await expect(page.get_by_role("heading", name="Runtime", level=1)).to_be_focused()
    await page.clock.run_for(1000)
    assert page.url.endswith("#/runtime")


async def test_seconds_are_rounded_before_they_are_told(door: "Door") -> None:
    visitor = await door.admin()
    told = await visitor.page.evaluate(
        """async () => {
            const { seconds } = await import("/page/js/i18n.js");
            return [0.126, 59.4, 59.7, 119.7, 121.2].map(seconds);
        }"""
    )
    assert told == ["0.13 s", "59 s", "1 min 0 s", "2 min 0 s", "2 min 1 s"]


async def test_the_page_knows_the_rules_as_they_are(door: "Door") -> None:
    visitor = await door.admin()
    rules = await visitor.page.evaluate(
        """async () => {
            const { DIMENSIONS, PASS_MARK, DONE_GRADE, PARTLY_DONE_GRADE, STEPS, ALLOWED } =
                await import("/page/js/rules.js");
            return { DIMENSIONS, PASS_MARK, DONE_GRADE, PARTLY_DONE_GRADE, STEPS, ALLOWED };
        }"""
    )
    assert rules["DIMENSIONS"] == [
        {"name": each.name, "weight": each.weight, "pass_mark": each.pass_mark}
        for each in DIMENSIONS
    ]
    assert rules["PASS_MARK"] == OVERALL_PASS_MARK
    assert (rules["DONE_GRADE"], rules["PARTLY_DONE_GRADE"]) == (DONE_GRADE, PARTLY_DONE_GRADE)
    assert rules["STEPS"] == list(progress.STEPS)
    assert rules["ALLOWED"] == {status: list(able) for status, able in review.ALLOWED.items()}


async def test_everything_can_be_done_from_the_keyboard(door: "Door", hostile: str) -> None:
    visitor = await door.admin()
    page = visitor.page
    await visitor.go("/skills")
    await page.keyboard.press("Tab")
    await expect(page.get_by_text("Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Upload a skill")).to_be_focused()

    await visitor.go(f"/skills/{hostile}")
    await page.get_by_role("tab", name="Overview").focus()
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_role("tab", name="Tasks")).to_be_focused()
    await expect(page.get_by_role("tabpanel", name="Tasks")).to_contain_text("Task t1")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("tabpanel")).to_be_focused()


async def test_theme_and_language_can_be_chosen_and_stay_chosen(door: "Door") -> None:
    visitor = await door.admin(theme="light", language="en")
    page = visitor.page
    light = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    await page.get_by_role("button", name="Use the dark theme").click()
    await page.get_by_role("button", name="中文").click()
    await expect(page.get_by_role("heading", name="技能", level=1)).to_be_visible()
    await page.reload()

    await expect(page.get_by_role("heading", name="技能", level=1)).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    await expect(page.get_by_role("button", name="使用浅色主题")).to_be_visible()
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") != light


@pytest.mark.parametrize(("theme", "language"), [("light", "en"), ("dark", "zh")])
async def test_no_view_has_a_serious_accessibility_fault(
    door: "Door", hostile: str, approved: str, theme: "Theme", language: "Language"
) -> None:
    stranger = await door.stranger(theme, language)
    await stranger.page.goto(stranger.address)
    await examine(stranger, f"sign-in-{theme}-{language}")
    visitor = await door.admin(theme, language)
    places = {
        "skills": "/skills",
        "no-skills": "/skills?q=nothing-has-this-name",
        "upload": "/upload",
        **{
            f"skill-{tab}": f"/skills/{hostile}/{tab}"
            for tab in (
                "overview",
                "tasks",
                "network",
                "dependencies",
                "history",
                "contents",
                "audit",
            )
        },
        "full-tests": "/full-tests",
        "runtime": "/runtime",
        "audit": "/audit",
        "lost": "/nowhere",
    }
    for name, place in places.items():
        await visitor.go(place)
        await examine(visitor, f"{name}-{theme}-{language}")
    await visitor.go(f"/skills/{approved}")
    await visitor.page.locator("[data-action=delete]").click()
    await examine(visitor, f"dialog-{theme}-{language}")


async def examine(visitor: "Visitor", name: str) -> None:
    await visitor.settled()
    await visitor.photograph(name)
    found = await Axe().run(visitor.page, options={"resultTypes": ["violations"]})
    faults = [
        f"{fault['id']} at {node['target']}: {node['failureSummary']}"
        for fault in found.response["violations"]
        if fault["impact"] in {"serious", "critical"}
        for node in fault["nodes"]
    ]
    assert faults == [], name
