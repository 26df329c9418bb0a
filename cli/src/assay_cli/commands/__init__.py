"""The commands: a file for each, with its options and, below them, what it does.

To add one, copy `report.py` (or `images.py` for one with commands of its own), and add it here.
Its file is named as it is, with `_` for `-`, and has the Typer application in `app`.
"""

from typing import Final

import typer

COMMANDS: Final = {
    "up": "Run the whole stack here.",
    "validate": "Validate a skill.",
    "lint": "Check a skill's format.",
    "verify": "Verify the signed verdict on a skill.",
    "doctor": "Say what works on this machine.",
    "report": "Read the report on a skill.",
    "events": "Follow what happens.",
    "token": "Make a token for the stack here.",
    "skills": "The skills there are, and what is decided about them.",
    "full-test": "Test all approved skills again.",
    "images": "The runtime versions that approvals made.",
    "config": "What the command goes by, and where that comes from.",
}
"""Every command with the line that `assay --help` has for it, in the order shown there."""


def single_command() -> typer.Typer:
    """The application of a file with one command, which returns an `Exit`."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)


def command_group(name: str) -> typer.Typer:
    """The application of a file with several commands, each of which returns an `Exit`."""
    return typer.Typer(
        add_completion=False, no_args_is_help=True, rich_markup_mode=None, help=COMMANDS[name]
    )
