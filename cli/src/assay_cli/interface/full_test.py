from typing import Annotated
from uuid import UUID

import typer

from assay_cli.config import connection
from assay_cli.interface.options import Json, Page, Size, Token, Url, group

full_test = group("Test all approved skills again.")

Which = Annotated[
    UUID | None, typer.Argument(metavar="[ID]", help="Of a full test; the newest by default.")
]
Wait = Annotated[
    bool,
    typer.Option(
        "--wait", help="Stay until it has ended: 0 all passed, 1 one failed, 3 not all is known."
    ),
]


@full_test.command(short_help="Begin one.")
def start(wait: Wait = False, as_json: Json = False, url: Url = None, token: Token = None) -> None:
    """Test every approved skill with its stored tasks and two new ones."""
    from assay_cli.commands.full_test import start  # noqa: PLC0415

    raise typer.Exit(start(connection(url, token), wait=wait, as_json=as_json))


@full_test.command(short_help="Show how far one is.")
def status(
    full_test_id: Which = None,
    wait: Wait = False,
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Show how far a full test is, or how it ended."""
    from assay_cli.commands.full_test import status  # noqa: PLC0415

    to = connection(url, token)
    raise typer.Exit(status(to, full_test_id, wait=wait, as_json=as_json))


@full_test.command(short_help="End one that is under way.")
def cancel(
    full_test_id: Which = None, as_json: Json = False, url: Url = None, token: Token = None
) -> None:
    """End a full test; what has not been tested by then stays untested."""
    from assay_cli.commands.full_test import cancel  # noqa: PLC0415

    raise typer.Exit(cancel(connection(url, token), full_test_id, as_json=as_json))


@full_test.command("list", short_help="List them, newest first.")
def list_full_tests(
    page: Page = 1, size: Size = 20, as_json: Json = False, url: Url = None, token: Token = None
) -> None:
    """List full tests, newest first."""
    from assay_cli.commands.full_test import list_full_tests  # noqa: PLC0415

    to = connection(url, token)
    raise typer.Exit(list_full_tests(to, page=page, size=size, as_json=as_json))
