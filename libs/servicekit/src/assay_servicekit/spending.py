"""What work has cost by the time it fails, however it fails, as long as its worker lives."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from assay_contracts.base import ModelUse, Result

Tell = Callable[[], ModelUse]
"""Says what a model has cost so far."""

_tellers: ContextVar[list[Tell] | None] = ContextVar("tellers", default=None)


def tell_costs(tell: Tell) -> None:
    """Whoever is about to use a model for the work at hand says here how to learn what it cost.

    The bus puts that into the result of work that fails, is stopped or raises.
    """
    tellers = _tellers.get()
    if tellers is not None:
        tellers.append(tell)


@contextmanager
def costs_told() -> Iterator[list[Tell]]:
    """Everything that is told by what is started meanwhile."""
    tellers: list[Tell] = []
    token = _tellers.set(tellers)
    try:
        yield tellers
    finally:
        _tellers.reset(token)


def with_costs(result: Result, tellers: list[Tell]) -> Result:
    """A failed result with what models have cost; one that went well says so itself."""
    if result.failure is None or result.failure.costs is not None:
        return result
    told = (tell() for tell in tellers)
    costs = tuple(use for use in told if use.calls)
    failure = result.failure.model_copy(update={"costs": costs})
    return result.model_copy(update={"failure": failure})
