"""How a command ends: with an exit code, and with one line when something stood in its way."""

from enum import IntEnum
from typing import Final

from assay_contracts.validations import Verdict


class Exit(IntEnum):
    PASSED = 0
    FAILED = 1
    """The skill did not pass."""
    BAD_INPUT = 2
    """Wrong usage, or something that cannot be validated at all."""
    INCONCLUSIVE = 3
    """Nothing is known about the skill: the failure is ours or the machine's."""


EXIT_OF: Final[dict[Verdict, Exit]] = {
    "passed": Exit.PASSED,
    "failed": Exit.FAILED,
    "inconclusive": Exit.INCONCLUSIVE,
}


class CommandError(Exception):
    """Ends the command. The message says in one line what happened, why, and what to do."""

    def __init__(self, message: str, exit_code: Exit, *, details: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.details = details
        """Further lines, each about one thing that is wrong."""


class Interrupted(BaseException):
    """A signal ended the command."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.exit_code = 128 + signal_number
