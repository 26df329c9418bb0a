"""Each task's share of what its run may use. Pure."""

from typing import Final

_RESERVE: Final = 0.1
_LEAST_RESERVE_S: Final = 2.0
"""Share of a run's time, and seconds, for opening the sandbox, checks and the snapshot."""


def seconds_for_task(*, run_limit_s: float, turns: int, ceiling_s: float) -> float:
    """How long one task may take, so that tasks that all hang still leave a run that ended.

    A hanging skill is the skill's failure; only a run that overran as a whole is ours.

    Args:
        run_limit_s: What the whole run may take.
        turns: How many tasks go one after another; tasks side by side are one turn.
        ceiling_s: What one task may take in any case.
    """
    reserve = max(_RESERVE * run_limit_s, min(_LEAST_RESERVE_S, run_limit_s / 2))
    return min(ceiling_s, (run_limit_s - reserve) / max(1, turns))


def tokens_for_task(budget: int | None, tasks: int) -> int | None:
    """An equal share for each, so that no task is cut short by another's appetite."""
    return None if budget is None else budget // max(1, tasks)
