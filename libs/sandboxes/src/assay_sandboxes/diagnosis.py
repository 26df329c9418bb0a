"""What works on this machine, found out by trying it; `assay doctor` shows it."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

_PROGRAM_S: Final = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one check."""

    name: str
    state: Literal["ok", "note", "fails"]
    """`fails`: the embedded stack cannot work. `note`: it can, with what is said."""
    detail: str
    advice: str = ""


def examine_program(
    name: str, command: Sequence[str], *, describe: Callable[[str], str], advice: str
) -> Finding:
    """Whether a program can be run; `describe` says what its output shows."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PROGRAM_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, "fails", str(error), advice)
    if done.returncode != 0:
        return Finding(name, "fails", done.stderr or done.stdout, advice)
    return Finding(name, "ok", describe(done.stdout))
