"""`assay skills`: the skills there are, and what an admin decides about them."""

from typing import Annotated, Literal
from uuid import UUID

import typer

from assay_cli.commands import command_group
from assay_cli.confirmation import make_sure
from assay_cli.connection import Connection, connection
from assay_cli.exit_codes import EXIT_OF, Exit
from assay_cli.gateway_client import GatewayClient, parsed, with_client
from assay_cli.options import Json, Page, Size, Skill, Token, Url, Yes
from assay_cli.printing import moment, number, say, say_document, show_fields, show_table
from assay_cli.progress_display import progress_on_stderr
from assay_contracts.base import Model
from assay_contracts.review import MAX_REASON
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


app = command_group("skills")


@app.command("list", short_help="List skills, newest first.")
def list_skills(
    *,
    status: Annotated[SkillStatus | None, typer.Option(help="Only skills of this status.")] = None,
    search: Annotated[str | None, typer.Option("--search", "-q", help="Part of a name.")] = None,
    page: Page = 1,
    size: Size = 20,
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> Exit:
    """List skills, newest first."""
    given = {"status": status, "q": search}
    parameters = {name: value for name, value in given.items() if value is not None}
    content = with_client(
        connection(url, token),
        lambda client: client.get("/skills", {**parameters, "page": page, "size": size}),
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


@app.command("show", short_help="Show one skill and its validations.")
def show_skill(skill: Skill, as_json: Json = False, url: Url = None, token: Token = None) -> Exit:
    """Show one skill and its validations with their scores."""

    async def work(client: GatewayClient) -> tuple[bytes, ValidationHistory]:
        skill_id = await client.skill_id(skill)
        detail = await client.get(f"/skills/{skill_id}")
        return detail, await client.read(f"/skills/{skill_id}/validations", ValidationHistory)

    content, history = with_client(connection(url, token), work)
    if as_json:
        say_document(content)
        return Exit.PASSED
    show_fields(_fields(parsed(content, SkillDetail)))
    if history.validations:
        say("")
        show_table(
            ("validation", "kind", "revision", "verdict", "score", "ended"),
            [_row(validation) for validation in history.validations],
        )
    return Exit.PASSED


def _fields(skill: SkillDetail) -> list[tuple[str, str]]:
    fields = [
        ("name", one_line(skill.name)),
        ("id", str(skill.skill_id)),
        ("status", skill.status),
        ("stage", skill.validation_stage or "not validated"),
        ("revision", f"{skill.revision}, sha256 {skill.bundle_sha256}"),
        ("uploaded", f"{moment(skill.created_at)} by {one_line(skill.uploaded_by)}"),
        ("description", one_line(skill.description, LONGEST_DESCRIPTION)),
    ]
    if skill.reason:
        fields.append(("verdict", f"{skill.verdict}: {one_line(skill.reason)}"))
    fields += [
        (f"format {finding.severity}", one_line(finding.message)) for finding in skill.findings
    ]
    return fields


def _row(validation: ValidationSummary) -> tuple[str, ...]:
    return (
        str(validation.validation_id),
        validation.kind.replace("_", " "),
        str(validation.revision),
        validation.verdict or validation.validation_stage,
        number(validation.scores.overall if validation.scores else None),
        moment(validation.completed_at),
    )


@app.command(short_help="Let agents use a skill that passed.")
def approve(skill: Skill, as_json: Json = False, url: Url = None, token: Token = None) -> Exit:
    """Let agents use a skill that passed; its environment becomes the next runtime version."""
    return _act(connection(url, token), "approve", skill, as_json=as_json)


@app.command(short_help="Turn a skill down.")
def reject(
    skill: Skill,
    reason: Annotated[
        str, typer.Option("--reason", "-r", help=f"Why; at most {MAX_REASON} characters.")
    ],
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> Exit:
    """Turn a skill down that waits for review."""
    return _act(connection(url, token), "reject", skill, reason=reason, as_json=as_json)


@app.command(short_help="Validate a skill once more.")
def revalidate(
    skill: Skill,
    wait: Annotated[
        bool, typer.Option("--wait", help="Stay until it has ended; exit as `validate` does.")
    ] = False,
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> Exit:
    """Validate the newest revision of a skill once more."""
    to = connection(url, token)
    if not wait:
        return _act(to, "revalidate", skill, as_json=as_json)

    async def work(client: GatewayClient) -> Exit:
        skill_id = await client.skill_id(skill)
        content = await client.send("POST", f"/skills/{skill_id}/revalidate")
        _print_answer(content, as_json=as_json)
        return await _follow(client, skill_id)

    return with_client(to, work)


@app.command(short_help="End a validation that is under way.")
def cancel(skill: Skill, as_json: Json = False, url: Url = None, token: Token = None) -> Exit:
    """End a skill's validation as inconclusive."""
    return _act(connection(url, token), "cancel", skill, as_json=as_json)


@app.command(short_help="Remove a skill.")
def delete(
    skill: Skill, yes: Yes = False, as_json: Json = False, url: Url = None, token: Token = None
) -> Exit:
    """Remove a skill with its revisions and reports; the audit log keeps what was done."""
    to = connection(url, token)

    async def find(client: GatewayClient) -> SkillDetail:
        return await client.read(f"/skills/{await client.skill_id(skill)}", SkillDetail)

    found = with_client(to, find)
    make_sure(
        f"Delete {one_line(found.name)} ({found.status}) with all its revisions and reports?",
        sure=yes,
    )
    content = with_client(to, lambda client: client.send("DELETE", f"/skills/{found.skill_id}"))
    return _print_answer(content, as_json=as_json)


def _act(
    to: Connection, action: Action, name_or_id: str, *, as_json: bool, reason: str | None = None
) -> Exit:
    """Have one thing done with a skill."""
    body = None if reason is None else {"reason": reason}

    async def work(client: GatewayClient) -> bytes:
        skill_id = await client.skill_id(name_or_id)
        return await client.send("POST", f"/skills/{skill_id}/{action}", body)

    return _print_answer(with_client(to, work), as_json=as_json)


async def _follow(client: GatewayClient, skill_id: UUID) -> Exit:
    """Show how a validation goes on until it has ended."""
    verdict = None
    with progress_on_stderr() as progress:
        async for status in client.follow_validation(skill_id):
            progress.see(status)
            verdict = status.verdict
    assert verdict is not None, "what has ended has a verdict"
    return EXIT_OF[verdict]


def _print_answer(content: bytes, *, as_json: bool) -> Exit:
    if as_json:
        say_document(content)
    else:
        done = parsed(content, Done)
        say(f"{one_line(done.name)}: {one_line(done.message) or done.status}")
    return Exit.PASSED
