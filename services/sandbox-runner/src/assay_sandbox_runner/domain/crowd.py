"""Which built-in skills agents see, so that finding the one under test is a choice. Pure."""

from collections.abc import Collection
from typing import Final

CROWD: Final = 12
"""Skills that an agent sees at least beside the one under test."""


def neighbours_shown(
    available: Collection[str], *, mounted: Collection[str], under_test: str
) -> tuple[str, ...]:
    """As many of the available ones, by name, as are missing for a crowd.

    Args:
        available: Names of the built-in skills.
        mounted: Names of the skills that are mounted anyway; none of them is doubled.
        under_test: The skill that the tasks are about, mounted or not.
    """
    missing = CROWD - len(set(mounted) - {under_test})
    free = sorted(set(available) - {*mounted, under_test})
    return tuple(free[: max(0, missing)])
