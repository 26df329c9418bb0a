from typing import Annotated

import typer

from assay_cli.config import connection
from assay_cli.interface.options import Json, Page, Size, Skill, Token, Url, Yes, group
from assay_contracts.review import MAX_REASON
from assay_contracts.skills import SkillStatus

skills = group("The skills there are, and what is decided about them.")


@skills.command("list", short_help="List skills, newest first.")
def list_skills(
    *,
    status: Annotated[SkillStatus | None, typer.Option(help="Only skills of this status.")] = None,
    search: Annotated[str | None, typer.Option("--search", "-q", help="Part of a name.")] = None,
    page: Page = 1,
    size: Size = 20,
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """List skills, newest first."""
    from assay_cli.commands.skills import Listing, list_skills  # noqa: PLC0415

    asked = Listing(status=status, q=search, page=page, size=size)
    raise typer.Exit(list_skills(connection(url, token), asked, as_json=as_json))


@skills.command("show", short_help="Show one skill and its validations.")
def show_skill(skill: Skill, as_json: Json = False, url: Url = None, token: Token = None) -> None:
    """Show one skill and its validations with their scores."""
    from assay_cli.commands.skills import show_skill  # noqa: PLC0415

    raise typer.Exit(show_skill(connection(url, token), skill, as_json=as_json))


@skills.command(short_help="Let agents use a skill that passed.")
def approve(skill: Skill, as_json: Json = False, url: Url = None, token: Token = None) -> None:
    """Let agents use a skill that passed; its environment becomes the next runtime version."""
    from assay_cli.commands.skills import act  # noqa: PLC0415

    raise typer.Exit(act(connection(url, token), "approve", skill, as_json=as_json))


@skills.command(short_help="Turn a skill down.")
def reject(
    skill: Skill,
    reason: Annotated[
        str, typer.Option("--reason", "-r", help=f"Why; at most {MAX_REASON} characters.")
    ],
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Turn a skill down that waits for review."""
    from assay_cli.commands.skills import act  # noqa: PLC0415

    to = connection(url, token)
    raise typer.Exit(act(to, "reject", skill, reason=reason, as_json=as_json))


@skills.command(short_help="Validate a skill once more.")
def revalidate(
    skill: Skill,
    wait: Annotated[
        bool, typer.Option("--wait", help="Stay until it has ended; exit as `validate` does.")
    ] = False,
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Validate the newest revision of a skill once more."""
    from assay_cli.commands.skills import revalidate  # noqa: PLC0415

    raise typer.Exit(revalidate(connection(url, token), skill, wait=wait, as_json=as_json))


@skills.command(short_help="End a validation that is under way.")
def cancel(skill: Skill, as_json: Json = False, url: Url = None, token: Token = None) -> None:
    """End a skill's validation as inconclusive."""
    from assay_cli.commands.skills import act  # noqa: PLC0415

    raise typer.Exit(act(connection(url, token), "cancel", skill, as_json=as_json))


@skills.command(short_help="Remove a skill.")
def delete(
    skill: Skill, yes: Yes = False, as_json: Json = False, url: Url = None, token: Token = None
) -> None:
    """Remove a skill with its revisions and reports; the audit log keeps what was done."""
    from assay_cli.commands.skills import delete  # noqa: PLC0415

    raise typer.Exit(delete(connection(url, token), skill, sure=yes, as_json=as_json))
