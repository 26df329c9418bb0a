"""What must be there when a documented exercise has done its work."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from assay_contracts.tasks import Check, CommandCheck, FileCheck, TaskFile
from assay_rehearsal.exercises import RESULTS, Exercise

_PRINTING: Final = re.compile(
    r"\bprint\b|\bprintf\b|\becho\b|stdout|console\.(?:log|info|table)|\bputs\b|\bcat\b|logging\."
    r"|\.echo\(|\bhelp="
)
_COMPLAINING: Final = re.compile(
    r"print\([^\n]*file\s*=\s*sys\.stderr[^\n]*|console\.error[^\n]*|echo[^\n]*>&2[^\n]*"
)


def is_silent(exercise: Exercise, script: str) -> bool:
    """Whether an exercise makes no file and, as far as its scripts show, prints nothing."""
    makes_no_file = bool(exercise.given) and not exercise.made
    shown = _COMPLAINING.sub("", script)
    return makes_no_file and bool(script.strip()) and not _PRINTING.search(shown)


def result_name(variant: int) -> str:
    """What a task calls the file that the printed result is wanted in."""
    return f"{RESULTS[variant % len(RESULTS)]}-{variant + 1}.txt"


def checks_for(outputs: Sequence[str], *, inputs: Sequence[TaskFile]) -> tuple[Check, ...]:
    """One check that fails when nothing was made: what of the documented worked, coverage tells.

    Args:
        outputs: Files and folders that results are wanted in; none where inputs are changed.
        inputs: What the task gives.
    """
    if not outputs:
        return tuple(FileCheck(path=file.path) for file in inputs)
    if len(outputs) == 1 and not outputs[0].endswith("/"):
        return (FileCheck(path=outputs[0]),)
    there = (
        f'test -n "$(ls -A {shlex.quote(name)} 2> /dev/null)"'
        if name.endswith("/")
        else f"test -s {shlex.quote(name)}"
        for name in outputs
    )
    return (CommandCheck(command=" || ".join(there)),)
