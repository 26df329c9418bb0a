"""`assay images`: the runtime versions that approvals made."""

from typing import Annotated

import typer

from assay_cli.commands import command_group
from assay_cli.confirmation import make_sure
from assay_cli.connection import connection
from assay_cli.exit_codes import Exit
from assay_cli.gateway_client import GatewayClient, parsed, with_client
from assay_cli.options import Json, Token, Url, Yes
from assay_cli.printing import moment, say, say_document, show_table
from assay_contracts.rest import RollbackAnswer, RollbackPreviewAnswer
from assay_contracts.runtime import RuntimeVersions
from assay_reporting.text import one_line

app = command_group("images")


@app.command("list", short_help="List them, newest first.")
def list_runtime_versions(as_json: Json = False, url: Url = None, token: Token = None) -> Exit:
    """List the runtime versions, newest first."""
    content = with_client(connection(url, token), lambda client: client.get("/images"))
    if as_json:
        say_document(content)
        return Exit.PASSED
    show_table(
        ("version", "", "skill", "built on", "made", "by"),
        [
            (
                each.version,
                "current" if each.is_current else "" if each.is_available else "gone",
                one_line(each.skill_name or "–"),
                each.built_on or "–",
                moment(each.created_at),
                one_line(each.created_by),
            )
            for each in parsed(content, RuntimeVersions).versions
        ],
    )
    return Exit.PASSED


@app.command("rollback", short_help="Make another version current.")
def roll_back(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="For example v1.2.")],
    yes: Yes = False,
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> Exit:
    """Make another version current, older or newer, after showing what that hides and restores."""
    to = connection(url, token)

    async def preview(client: GatewayClient) -> RollbackPreviewAnswer:
        return await client.read(f"/images/{version}/rollback-preview", RollbackPreviewAnswer)

    would = with_client(to, preview)
    make_sure(
        f"Make {version} current? Hidden from agents: {_names(would.affected_skills)};"
        f" approved again: {_names(would.restored_skills)}.",
        sure=yes,
    )
    content = with_client(
        to, lambda client: client.send("POST", "/images/rollback", {"target_version": version})
    )
    if as_json:
        say_document(content)
    else:
        say(one_line(parsed(content, RollbackAnswer).message))
    return Exit.PASSED


def _names(skills: tuple[str, ...]) -> str:
    return ", ".join(map(one_line, skills)) or "none"
