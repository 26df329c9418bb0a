"""Ask whether somebody is sure before something is done that cannot be undone."""

import sys

from assay_cli.exit_codes import CommandError, Exit


def make_sure(question: str, *, sure: bool) -> None:
    """Raises CommandError unless the answer is yes."""
    if sure:
        return
    if not sys.stdin.isatty():
        raise CommandError(f"{question} Nobody is here to ask: say --yes.", Exit.BAD_INPUT)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise CommandError("Nothing was done.", Exit.BAD_INPUT)
