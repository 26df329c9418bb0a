"""`assay skills`: the skills there are, and what an admin decides about them."""

import sys
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from assay_cli.client import AssayClient, parsed, with_client
from assay_cli.config import Connection
from assay_cli.outcome import EXIT_OF, CommandError, Exit
from assay_cli.output import moment, number, say, say_document, show_facts, show_table
from assay_cli.progress import progress_on_stderr
from assay_contracts.base import Model
from assay_contracts.rpc import SkillDetail, SkillPage, ValidationHistory, ValidationSummary
from assay_contracts.skills import SkillStatus
from assay_reporting.text import one_line

Action = Literal["approve", "reject", "revalidate", "cancel"]
LONGEST_DESCRIPTION = 300


class Done(Model):
    """What every answer to an action has in common."""

    name: str
    status: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    status: SkillStatus | None
    q: str | None
    page: int
    size: int


def list_skills(to: Connection, asked: Listing, *, as_json: bool) -> Exit:
    """Raises CommandError or Interrupted, as every command here."""
    given = {"status": asked.status, "q": asked.q}
    parameters = {name: value for name, value in given.items() if value is not None}
    content = with_client(
        to,
        lambda client: client.get(
            "/skills", {**parameters, "page": asked.page, "size": asked.size}
        ),
    )
    if as_json:
        say_document(content)
        return Exit.PASSED
    found = parsed(content, SkillPage)
    show_table(
        ("name", "status", "stage", "score", "uploaded", "id"),
        [
            (
                one_line(skill.name),
                skill.status,
                skill.validation_stage or "–",
                number(skill.validation_score),
                moment(skill.created_at),
                str(skill.skill_id),
            )
            for skill in found.skills
        ],
    )
    shown = len(found.skills)
    if shown < found.total:
        say(f"{shown} of {found.total} skills, page {found.page}; --page shows the others.")
    return Exit.PASSED


def show_skill(to: Connection, name_or_id: str, *, as_json: bool) -> Exit:
    async def work(client: AssayClient) -> tuple[bytes, ValidationHistory]:
        skill_id = await client.skill_id(name_or_id)
        detail = await client.get(f"/skills/{skill_id}")
        return detail, await client.read(f"/skills/{skill_id}/validations", ValidationHistory)

    content, history = with_client(to, work)
    if as_json:
        say_document(content)
        return Exit.PASSED
    skill = parsed(content, SkillDetail)
    show_facts(_facts(skill))
    if history.validations:
        say("")
        show_table(
            ("validation", "kind", "revision", "verdict", "score", "ended"),
            [_row(validation) for validation in history.validations],
        )
    return Exit.PASSED


def _facts(skill: SkillDetail) -> list[tuple[str, str]]:
    facts = [
        ("name", one_line(skill.name)),
        ("id", str(skill.skill_id)),
        ("status", skill.status),
        ("stage", skill.validation_stage or "not validated"),
        ("revision", f"{skill.revision}, sha256 {skill.bundle_sha256}"),
        ("uploaded", f"{moment(skill.created_at)} by {one_line(skill.uploaded_by)}"),
        ("description", one_line(skill.description, LONGEST_DESCRIPTION)),
    ]
    if skill.reason:
        facts.append(("verdict", f"{skill.verdict}: {one_line(skill.reason)}"))
    facts += [
        (f"format {finding.severity}", one_line(finding.message)) for finding in skill.findings
    ]
    return facts


def _row(validation: ValidationSummary) -> tuple[str, ...]:
    return (
        str(validation.validation_id),
        validation.kind.replace("_", " "),
        str(validation.revision),
        validation.verdict or validation.validation_stage,
        number(validation.scores.overall if validation.scores else None),
        moment(validation.completed_at),
    )


def act(
    to: Connection, action: Action, name_or_id: str, *, as_json: bool, reason: str | None = None
) -> Exit:
    """Have one thing done with a skill."""
    body = None if reason is None else {"reason": reason}

    async def work(client: AssayClient) -> bytes:
        skill_id = await client.skill_id(name_or_id)
        return await client.send("POST", f"/skills/{skill_id}/{action}", body)

    return _tell(with_client(to, work), as_json=as_json)


def revalidate(to: Connection, name_or_id: str, *, wait: bool, as_json: bool) -> Exit:
    """Start a validation; with `wait`, its verdict is the exit code."""
    if not wait:
        return act(to, "revalidate", name_or_id, as_json=as_json)

    async def work(client: AssayClient) -> Exit:
        skill_id = await client.skill_id(name_or_id)
        content = await client.send("POST", f"/skills/{skill_id}/revalidate")
        _tell(content, as_json=as_json)
        return await follow(client, skill_id)

    return with_client(to, work)


async def follow(client: AssayClient, skill_id: UUID) -> Exit:
    """Show how a validation goes on until it has ended."""
    verdict = None
    with progress_on_stderr() as progress:
        async for status in client.follow(skill_id):
            progress.see(status)
            verdict = status.verdict
    assert verdict is not None, "what has ended has a verdict"
    return EXIT_OF[verdict]


def delete(to: Connection, name_or_id: str, *, sure: bool, as_json: bool) -> Exit:
    """Remove a skill, once whoever asks is sure."""

    async def look(client: AssayClient) -> SkillDetail:
        return await client.read(f"/skills/{await client.skill_id(name_or_id)}", SkillDetail)

    skill = with_client(to, look)
    make_sure(
        f"Delete {one_line(skill.name)} ({skill.status}) with all its revisions and reports?",
        sure=sure,
    )
    content = with_client(to, lambda client: client.send("DELETE", f"/skills/{skill.skill_id}"))
    return _tell(content, as_json=as_json)


def make_sure(question: str, *, sure: bool) -> None:
    """Raises CommandError unless the answer is yes."""
    if sure:
        return
    if not sys.stdin.isatty():
        raise CommandError(f"{question} Nobody is here to ask: say --yes.", Exit.BAD_INPUT)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise CommandError("Nothing was done.", Exit.BAD_INPUT)


def _tell(content: bytes, *, as_json: bool) -> Exit:
    if as_json:
        say_document(content)
    else:
        done = parsed(content, Done)
        say(f"{one_line(done.name)}: {one_line(done.message) or done.status}")
    return Exit.PASSED
