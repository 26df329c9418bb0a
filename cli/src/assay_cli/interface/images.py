from typing import Annotated

import typer

from assay_cli.config import connection
from assay_cli.interface.options import Json, Token, Url, Yes, group

images = group("The runtime versions that approvals made.")


@images.command("list", short_help="List them, newest first.")
def list_images(as_json: Json = False, url: Url = None, token: Token = None) -> None:
    """List the runtime versions, newest first."""
    from assay_cli.commands.images import list_images  # noqa: PLC0415

    raise typer.Exit(list_images(connection(url, token), as_json=as_json))


@images.command("rollback", short_help="Make another version current.")
def roll_back(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="For example v1.2.")],
    yes: Yes = False,
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Make another version current, older or newer, after showing what that hides and restores."""
    from assay_cli.commands.images import roll_back  # noqa: PLC0415

    raise typer.Exit(roll_back(connection(url, token), version, sure=yes, as_json=as_json))
