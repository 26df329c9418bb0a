"""`assay full-test`: all approved skills tested again."""

import asyncio
from typing import Final
from uuid import UUID

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assay_cli.client import POLL_S, AssayClient, parsed, with_client
from assay_cli.config import Connection
from assay_cli.outcome import CommandError, Exit
from assay_cli.output import console, moment, number, say, say_document, show_facts, show_table
from assay_contracts.full_tests import FullTestCounts, FullTestPage, FullTestView
from assay_reporting.text import one_line

ENDED: Final = frozenset({"completed", "cancelled"})


def start(to: Connection, *, wait: bool, as_json: bool) -> Exit:
    """Raises CommandError or Interrupted, as every command here."""

    async def work(client: AssayClient) -> bytes:
        content = await client.send("POST", "/skills/full-test")
        if not wait:
            return content
        return await _until_ended(client, parsed(content, FullTestView).full_test_id)

    return _show(with_client(to, work), as_json=as_json)


def status(to: Connection, full_test_id: UUID | None, *, wait: bool, as_json: bool) -> Exit:
    """How far one is, by default the newest."""

    async def work(client: AssayClient) -> bytes:
        which = full_test_id or await _newest(client)
        if wait:
            return await _until_ended(client, which)
        return await client.get(f"/full-tests/{which}")

    return _show(with_client(to, work), as_json=as_json)


def cancel(to: Connection, full_test_id: UUID | None, *, as_json: bool) -> Exit:
    async def work(client: AssayClient) -> bytes:
        which = full_test_id or await _newest(client)
        return await client.send("POST", f"/full-tests/{which}/cancel")

    content = with_client(to, work)
    if as_json:
        say_document(content)
    else:
        counts = parsed(content, FullTestView).counts
        say(f"Cancelled: {counts.done} of {counts.total} skills had been tested.")
    return Exit.PASSED


def list_full_tests(to: Connection, *, page: int, size: int, as_json: bool) -> Exit:
    content = with_client(
        to, lambda client: client.get("/full-tests", {"page": page, "size": size})
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


async def _newest(client: AssayClient) -> UUID:
    found = await client.read("/full-tests", FullTestPage, {"size": 1})
    if not found.full_tests:
        raise CommandError(
            "There has been no full test yet: `assay full-test start` begins one.", Exit.BAD_INPUT
        )
    return found.full_tests[0].full_test_id


async def _until_ended(client: AssayClient, full_test_id: UUID) -> bytes:
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
    facts = [
        ("full test", str(view.full_test_id)),
        ("status", f"{view.status}, {counts.done} of {counts.total} skills tested"),
        ("started", f"{moment(view.started_at)} by {one_line(view.started_by)}"),
        ("runtime version", view.runtime_version),
    ]
    if view.completed_at is not None:
        facts.append(("ended", moment(view.completed_at)))
    show_facts(facts)
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
