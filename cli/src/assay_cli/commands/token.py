"""`assay token`: a signed token for the stack on this machine."""

import re
from datetime import timedelta
from typing import Annotated, Final

import typer

from assay_cli.commands import single_command
from assay_cli.config_file import data_folder
from assay_cli.embedded.data import DataFolder
from assay_cli.embedded.tokens import Role, issue
from assay_cli.exit_codes import CommandError, Exit
from assay_cli.options import Data
from assay_cli.printing import say

UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
LONGEST: Final = timedelta(days=365)
LONGEST_NAME: Final = 200


app = single_command()


@app.command()
def token(
    name: Annotated[
        str, typer.Option(help="Who will show it; the audit log names them so.")
    ] = "admin",
    ttl: Annotated[
        str, typer.Option(metavar="TIME", help="How long it is valid: 90s, 30m, 1h, 7d.")
    ] = "1h",
    role: Annotated[
        Role, typer.Option(help="What it allows; `none` is refused with 403.")
    ] = "admin",
    data: Data = None,
) -> Exit:
    """Print a signed token for the stack in the data folder, whether it runs now or later."""
    folder = data_folder(data)
    lifetime = _lifetime(ttl)
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise CommandError(
            f"--name needs 1 to {LONGEST_NAME} characters that can be printed.", Exit.BAD_INPUT
        )
    kept = DataFolder(folder.absolute()).kept_secrets()
    if kept is None or kept.jwt_secret is None:
        raise CommandError(
            f"No stack of this version was started in {folder} yet: start one with"
            " `assay up`, or name its folder with --data.",
            Exit.BAD_INPUT,
        )
    say(issue(kept.jwt_secret, name=name, lifetime=lifetime, role=role))
    return Exit.PASSED


def _lifetime(text: str) -> timedelta:
    written = re.fullmatch(r"(\d{1,9})([smhd])", text.strip())
    lifetime = timedelta(**{UNITS[written[2]]: int(written[1])}) if written else timedelta()
    if not timedelta() < lifetime <= LONGEST:
        raise CommandError(
            f"--ttl {text!r} is no time to live: write a number and s, m, h or d, such as 90s, 1h"
            f" or 7d, up to {LONGEST.days}d.",
            Exit.BAD_INPUT,
        )
    return lifetime
