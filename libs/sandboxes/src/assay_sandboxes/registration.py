"""How a provider of sandboxes makes itself known."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from assay_contracts.runs import SandboxKind
from assay_sandboxes.diagnosis import Finding
from assay_sandboxes.egress import EgressSettings
from assay_sandboxes.port import SandboxProvider


class ProviderSettings(EgressSettings):
    """What every provider reads from its environment; those with more derive from this."""

    model_config = SettingsConfigDict(
        frozen=True, extra="ignore", populate_by_name=True, hide_input_in_errors=True
    )

    sandbox: SandboxKind = Field(default="bubblewrap", validation_alias="ASSAY_SANDBOX")
    """Who provides the sandboxes: `bubblewrap`, on this machine, or another such as `daytona`."""
    snapshot_ttl: timedelta = Field(
        default=timedelta(hours=24), validation_alias="ASSAY_SNAPSHOT_TTL"
    )
    """Age at which a snapshot is deleted if nobody asked to keep it: approve before that."""


S_contra = TypeVar("S_contra", bound=ProviderSettings, contravariant=True)


class OpenProvider(Protocol[S_contra]):
    def __call__(self, settings: S_contra, *, state_dir: Path, at_once: int) -> SandboxProvider:
        """The provider; nothing is connected yet.

        Args:
            settings: its own, and everybody's.
            state_dir: a folder on this machine that is its own to fill.
            at_once: how many sandboxes are used at the same time.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration(Generic[S_contra]):
    """One provider, as whoever does not know it opens it and asks how it is."""

    kind: SandboxKind
    """What `ASSAY_SANDBOX` chooses it by, and what its sandboxes' proofs say."""
    open: OpenProvider[S_contra]
    examine: Callable[[Mapping[str, str]], Iterable[Finding]]
    """Whether it can be used on this machine, in this environment."""
