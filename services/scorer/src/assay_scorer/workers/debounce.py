"""Does something soon after it is asked for; many who ask at once are served by one round."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from assay_servicekit.periodic import Periodic, periodic

GATHER: Final = timedelta(milliseconds=100)
"""The first who asks is served at once; those who follow closer than this, together."""


def debounced(name: str, do_round: Callable[[], Awaitable[None]]) -> Periodic:
    """A round whenever it is woken. What is missed here, the reconciler makes up for."""
    return periodic(name, do_round, every=None, min_pause=GATHER)
