from typing import Annotated

import typer

from assay_cli.config import Key
from assay_cli.interface.options import Json, group

config = group("What the command goes by, and where that comes from.")

Name = Annotated[Key, typer.Argument(metavar="KEY", help="One of url, token, data.")]


@config.command(short_help="Show what the command goes by.")
def show(as_json: Json = False) -> None:
    """Show each setting and where it comes from; a token is never shown."""
    from assay_cli.commands.config import show_config  # noqa: PLC0415

    raise typer.Exit(show_config(as_json=as_json))


@config.command("set", short_help="Keep a setting in the file.")
def set_value(key: Name, value: Annotated[str, typer.Argument(metavar="VALUE")]) -> None:
    """Keep a setting in the file, which only you may read."""
    from assay_cli.commands.config import set_config  # noqa: PLC0415

    raise typer.Exit(set_config(key, value))


@config.command("unset", short_help="Take a setting out of the file.")
def unset_value(key: Name) -> None:
    """Take a setting out of the file."""
    from assay_cli.commands.config import unset_config  # noqa: PLC0415

    raise typer.Exit(unset_config(key))
