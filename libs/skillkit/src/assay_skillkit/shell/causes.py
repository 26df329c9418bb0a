"""Which line of an output explains why a command did not work. Pure."""

import re
from typing import Final

_STACK: Final = "Traceback (most recent call last)"
_ERROR_LINE: Final = re.compile(
    r"^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt)\b.*$|^.*\b[Ee]rror: .*$|^(?i:error)\b.*$"
    r"|^fatal\b.*$|^.*: (?:command )?not found$|^.*No such file or directory.*$|^.*\bcannot \w.*$",
    re.MULTILINE,
)
_TELLS_MOST: Final = re.compile(
    r"unrecognized |[Nn]o such (?:option|command)|[Uu]nknown (?:option|command|argument)"
    r"|invalid choice|[Mm]issing script|Cannot find module|is not set\b|is required\b"
)
_NO_CAUSE: Final = re.compile(
    r"^\[.*\]$|complete log of this run|^\s*(?:npm (?:error|ERR!)\s*)?$|A complete log|_logs/"
    r"|^\w*Error: $",
)
"""Lines that point elsewhere: to a log that is gone, or to what was left out."""


def cause_of(output: str) -> str:
    """The end of the last stack, else the first line that speaks of an error, else the last line.

    Empty where nothing was printed.
    """
    stack = output.rfind(_STACK)
    if stack >= 0:
        for line in output[stack:].splitlines()[1:]:
            if line and not line.startswith((" ", "\t")):
                return line.strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if not _NO_CAUSE.search(line)]
    found = next(
        (
            line
            for each in (_TELLS_MOST.search, _ERROR_LINE.match)
            for line in telling
            if each(line)
        ),
        "",
    )
    return found or (telling[-1] if telling else "")
