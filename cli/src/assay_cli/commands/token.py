"""`assay token`: a signed token for the stack on this machine."""

import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from assay_cli.embedded.data import DataFolder
from assay_cli.embedded.tokens import Role, issue
from assay_cli.outcome import CommandError, Exit
from assay_cli.output import say

UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
LONGEST: Final = timedelta(days=365)
LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for."""

    data: Path
    name: str
    ttl: str
    role: Role


def token(wanted: Wanted) -> Exit:
    """Print it. Raises CommandError."""
    lifetime = _lifetime(wanted.ttl)
    if not 0 < len(wanted.name) <= LONGEST_NAME or not wanted.name.isprintable():
        raise CommandError(
            f"--name needs 1 to {LONGEST_NAME} characters that can be printed.", Exit.BAD_INPUT
        )
    kept = DataFolder(wanted.data.absolute()).kept_secrets()
    if kept is None or kept.jwt_secret is None:
        raise CommandError(
            f"No stack of this version was started in {wanted.data} yet: start one with"
            " `assay up`, or name its folder with --data.",
            Exit.BAD_INPUT,
        )
    say(issue(kept.jwt_secret, name=wanted.name, lifetime=lifetime, role=wanted.role))
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
