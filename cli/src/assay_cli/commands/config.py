"""`assay config`: what the command goes by, and where that comes from."""

import os
from typing import Annotated, Final

import typer

from assay_cli.commands import command_group
from assay_cli.config_file import (
    KEYS,
    FileConfig,
    Key,
    config_file,
    data_folder,
    read_config,
    write_config,
)
from assay_cli.connection import TOKEN_VARIABLE, URL_VARIABLE, sendable
from assay_cli.embedded.data import DataFolder
from assay_cli.exit_codes import CommandError, Exit
from assay_cli.options import Json
from assay_cli.printing import say, say_json, show_table

VARIABLES: Final[dict[Key, str]] = {"url": URL_VARIABLE, "token": TOKEN_VARIABLE}
HIDDEN: Final = "(set)"


Name = Annotated[Key, typer.Argument(metavar="KEY", help="One of url, token, data.")]

app = command_group("config")


@app.command(short_help="Show what the command goes by.")
def show(as_json: Json = False) -> Exit:
    """Show each setting and where it comes from; a token is never shown."""
    file = read_config()
    found = {key: _found(key, file) for key in KEYS}
    if as_json:
        entries = {key: {"value": value, "from": source} for key, (value, source) in found.items()}
        told: dict[str, object] = {"file": str(config_file())}
        told.update(entries.items())
        say_json(told, indent=2)
        return Exit.PASSED
    show_table(
        ("setting", "value", "from"),
        [(key, value or "–", source) for key, (value, source) in found.items()],
    )
    say(f"\nThe file is {config_file()}. `assay config set KEY VALUE` writes it.")
    return Exit.PASSED


def _found(key: Key, file: FileConfig) -> tuple[str | None, str]:
    variable = VARIABLES.get(key)
    if variable and (given := os.environ.get(variable)):
        return (HIDDEN if key == "token" else given), variable
    written = getattr(file, key)
    if written is not None:
        return (HIDDEN if key == "token" else written), "file"
    running = DataFolder(data_folder(None)).running()
    if key == "data":
        return str(data_folder(None)), "default"
    if running is None:
        return None, "nowhere: no stack runs on this machine"
    return (HIDDEN if key == "token" else running.url), "the stack on this machine"


@app.command("set", short_help="Keep a setting in the file.")
def set_value(key: Name, value: Annotated[str, typer.Argument(metavar="VALUE")]) -> Exit:
    """Keep a setting in the file, which only you may read."""
    if key == "url" and not value.startswith(("http://", "https://")):
        raise CommandError(
            f"{value} is no address: it begins with http:// or https://.", Exit.BAD_INPUT
        )
    kept = sendable(value) if key == "token" else value
    write_config(read_config().model_copy(update={key: kept}))
    say(f"{key} is kept in {config_file()}.")
    return Exit.PASSED


@app.command("unset", short_help="Take a setting out of the file.")
def unset_value(key: Name) -> Exit:
    """Take a setting out of the file."""
    write_config(read_config().model_copy(update={key: None}))
    say(f"{key} is no longer in {config_file()}.")
    return Exit.PASSED
