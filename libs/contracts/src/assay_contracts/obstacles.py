"""What stood in the way of work, and is not the skill's: a limit of ours, or something missing."""

from typing import Final, Literal

from pydantic import Field

from assay_contracts.base import Model

LimitKind = Literal["file_size", "memory", "space", "processes", "open_files", "time"]
"""Limits of a sandbox. `time`: a command that was still at work when its time was up."""
ObstacleKind = Literal[
    "file_size",
    "memory",
    "space",
    "processes",
    "open_files",
    "time",
    "missing_tool",
    "unreachable_host",
    "missing_key",
    "missing_precondition",
]
"""A limit, or what is missing. `missing_tool`: a program that the skill needs and does not bring.
`unreachable_host`: a name that did not resolve, or a place that could not or may not be reached.
`missing_key`: a key or a login that nobody gave. `missing_precondition`: a git repository, a
display, a container engine, a graphics card, an administrator's rights."""

LIMITS: Final[frozenset[ObstacleKind]] = frozenset(
    {"file_size", "memory", "space", "processes", "open_files", "time"}
)


class Obstacle(Model):
    """One thing that stood in the way of a command, as it was observed."""

    kind: ObstacleKind
    what: str = Field(max_length=200)
    """The limit as it is set (`256 MiB`), the tool, the host, the variable, the precondition."""
    observed: str = Field(max_length=500)
    """How it is known: an error number, a signal, an exit code, the resolver's answer."""
    advice: str = Field(max_length=500)
    """What whoever reads this can do about it."""
    step: int | None = Field(default=None, ge=0)
    """Index into the trace's steps; none for what happened before the work."""

    @property
    def is_limit(self) -> bool:
        """Whether it is a limit of ours, rather than something missing."""
        return self.kind in LIMITS
