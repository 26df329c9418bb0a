"""`assay full-test`: all approved skills tested again."""

import asyncio
from typing import Annotated, Final
from uuid import UUID

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assay_cli.commands import command_group
from assay_cli.connection import connection
from assay_cli.exit_codes import CommandError, Exit
from assay_cli.gateway_client import POLL_S, GatewayClient, parsed, with_client
from assay_cli.options import Json, Page, Size, Token, Url
from assay_cli.printing import console, moment, number, say, say_document, show_fields, show_table
from assay_contracts.full_tests import FullTestCounts, FullTestPage, FullTestView
from assay_reporting.text import one_line

ENDED: Final = frozenset({"completed", "cancelled"})

Which = Annotated[
    UUID | None, typer.Argument(metavar="[ID]", help="Of a full test; the newest by default.")
]
Wait = Annotated[
    bool,
    typer.Option(
        "--wait", help="Stay until it has ended: 0 all passed, 1 one failed, 3 not all is known."
    ),
]

app = command_group("full-test")


@app.command(short_help="Begin one.")
def start(wait: Wait = False, as_json: Json = False, url: Url = None, token: Token = None) -> Exit:
    """Test every approved skill with its stored tasks and two new ones."""

    async def work(client: GatewayClient) -> bytes:
        content = await client.send("POST", "/skills/full-test")
        if not wait:
            return content
        return await _until_ended(client, parsed(content, FullTestView).full_test_id)

    return _show(with_client(connection(url, token), work), as_json=as_json)


@app.command(short_help="Show how far one is.")
def status(
    full_test_id: Which = None,
    wait: Wait = False,
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> Exit:
    """Show how far a full test is, or how it ended."""

    async def work(client: GatewayClient) -> bytes:
        which = full_test_id or await _newest(client)
        if wait:
            return await _until_ended(client, which)
        return await client.get(f"/full-tests/{which}")

    return _show(with_client(connection(url, token), work), as_json=as_json)


@app.command(short_help="End one that is under way.")
def cancel(
    full_test_id: Which = None, as_json: Json = False, url: Url = None, token: Token = None
) -> Exit:
    """End a full test; what has not been tested by then stays untested."""

    async def work(client: GatewayClient) -> bytes:
        which = full_test_id or await _newest(client)
        return await client.send("POST", f"/full-tests/{which}/cancel")

    content = with_client(connection(url, token), work)
    if as_json:
        say_document(content)
    else:
        counts = parsed(content, FullTestView).counts
        say(f"Cancelled: {counts.done} of {counts.total} skills had been tested.")
    return Exit.PASSED


@app.command("list", short_help="List them, newest first.")
def list_full_tests(
    page: Page = 1, size: Size = 20, as_json: Json = False, url: Url = None, token: Token = None
) -> Exit:
    """List full tests, newest first."""
    content = with_client(
        connection(url, token),
        lambda client: client.get("/full-tests", {"page": page, "size": size}),
    )
    if as_json:
        say_document(content)
        return Exit.PASSED
    show_table(
        ("started", "by", "status", "skills", "passed", "failed", "inconclusive", "worse", "id"),
        [
            (
                moment(each.started_at),
                one_line(each.started_by),
                each.status,
                *(
                    str(count)
                    for count in (
                        each.counts.total,
                        each.counts.passed,
                        each.counts.failed,
                        each.counts.inconclusive,
                        each.counts.worse,
                    )
                ),
                str(each.full_test_id),
            )
            for each in parsed(content, FullTestPage).full_tests
        ],
    )
    return Exit.PASSED


async def _newest(client: GatewayClient) -> UUID:
    found = await client.read("/full-tests", FullTestPage, {"size": 1})
    if not found.full_tests:
        raise CommandError(
            "There has been no full test yet: `assay full-test start` begins one.", Exit.BAD_INPUT
        )
    return found.full_tests[0].full_test_id


async def _until_ended(client: GatewayClient, full_test_id: UUID) -> bytes:
    """What it comes to, its progress shown meanwhile: a bar, or a line for each skill."""
    screen = console(stderr=True)
    said: set[str] = set()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=screen,
        disable=not screen.is_terminal,
    ) as bar:
        task = bar.add_task("skills tested", total=None)
        while True:
            content = await client.get(f"/full-tests/{full_test_id}")
            view = parsed(content, FullTestView)
            bar.update(task, total=view.counts.total, completed=view.counts.done)
            for skill in view.skills:
                if skill.verdict is not None and skill.skill_name not in said:
                    said.add(skill.skill_name)
                    score = number(skill.scores.overall if skill.scores else None)
                    screen.print(
                        f"{one_line(skill.skill_name)}: {skill.verdict}, {score}", markup=False
                    )
            if view.status in ENDED:
                return content
            await asyncio.sleep(POLL_S)


def _show(content: bytes, *, as_json: bool) -> Exit:
    view = parsed(content, FullTestView)
    if as_json:
        say_document(content)
    else:
        _show_view(view)
    return _exit(view)


def _show_view(view: FullTestView) -> None:
    counts = view.counts
    fields = [
        ("full test", str(view.full_test_id)),
        ("status", f"{view.status}, {counts.done} of {counts.total} skills tested"),
        ("started", f"{moment(view.started_at)} by {one_line(view.started_by)}"),
        ("runtime version", view.runtime_version),
    ]
    if view.completed_at is not None:
        fields.append(("ended", moment(view.completed_at)))
    show_fields(fields)
    if not view.skills:
        return
    say("")
    show_table(
        ("skill", "tasks", "step", "verdict", "score", "before", ""),
        [
            (
                one_line(skill.skill_name),
                str(skill.tasks),
                skill.step.replace("_", " "),
                skill.verdict or "–",
                number(skill.scores.overall if skill.scores else None),
                number(skill.scores_before.overall if skill.scores_before else None),
                "worse: " + "; ".join(map(one_line, skill.changes)) if skill.worse else "",
            )
            for skill in view.skills
        ],
    )


def _exit(view: FullTestView) -> Exit:
    """As a validation's: a failed skill is 1, one that nothing is known about 3."""
    if view.status == "running":
        return Exit.PASSED
    return _exit_of(view.counts) if view.status == "completed" else Exit.INCONCLUSIVE


def _exit_of(counts: FullTestCounts) -> Exit:
    if counts.failed:
        return Exit.FAILED
    return Exit.INCONCLUSIVE if counts.inconclusive else Exit.PASSED
