"""The lists of checks."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from assay_sandboxes.conformance import commands, environments, files, lifecycle, network
from assay_sandboxes.conformance.call_accounting import ACCOUNTED
from assay_sandboxes.conformance.under_test import ProviderUnderTest


@dataclass(frozen=True, slots=True)
class Check:
    """Something that is to hold."""

    name: str
    run: Callable[[ProviderUnderTest], Awaitable[None]]

    def __str__(self) -> str:
        return self.name


def _checks_in(module: ModuleType) -> Iterator[Check]:
    for name, function in inspect.getmembers(module, inspect.iscoroutinefunction):
        if function.__module__ == module.__name__ and not name.startswith("_"):
            yield Check(name.replace("_", " "), function)


CHECKS: Final = tuple(
    check
    for module in (commands, files, environments, lifecycle, network)
    for check in _checks_in(module)
)
"""For every provider."""
CALL_CHECKS: Final = tuple(Check(row.name, row) for row in ACCOUNTED)
"""For providers whose sandboxes run real programs and whose network calls are observed."""
