from collections.abc import Sequence
from typing import Protocol

from assay_scorer.domain.environment import Environment
from assay_scorer.domain.runtime_versions import Version


class RuntimeVersionQueries(Protocol):
    async def versions(self) -> Sequence[Version]:
        """Every runtime version, newest first."""
        ...


class RuntimeVersionChanges(Protocol):
    """Within a transaction."""

    async def lock_versions(self) -> Sequence[Version]:
        """Every runtime version, newest first. To be called before any skill is locked."""
        ...

    async def save_version(self, version: Version) -> None: ...


class Environments(Protocol):
    """Within a transaction."""

    async def current_environment(self) -> Environment:
        """The current runtime version and the approved skills, of one moment."""
        ...
