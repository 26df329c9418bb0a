"""The table of providers of sandboxes. A new one is a line in `PROVIDERS`.

If it has settings of its own, `SandboxSettings` derives from them too. Importing this is light: a
provider's SDK is imported when it is opened.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import field_validator

from assay_contracts.runs import SandboxKind
from assay_sandboxes.bubblewrap.registration import BUBBLEWRAP
from assay_sandboxes.daytona.registration import DAYTONA, DaytonaSettings
from assay_sandboxes.diagnosis import Finding
from assay_sandboxes.port import SandboxProvider
from assay_sandboxes.registration import Registration


class SandboxSettings(DaytonaSettings):
    """The settings of every provider there is."""

    @field_validator("sandbox")
    @classmethod
    def _is_there(cls, kind: SandboxKind) -> SandboxKind:
        kinds = [repr(provider.kind) for provider in PROVIDERS]
        if repr(kind) not in kinds:
            raise ValueError(f"nobody provides such sandboxes: choose {' or '.join(kinds)}")
        return kind


PROVIDERS: Final[tuple[Registration[SandboxSettings], ...]] = (BUBBLEWRAP, DAYTONA)


def open_provider(settings: SandboxSettings, *, state_dir: Path, at_once: int) -> SandboxProvider:
    """Who provides the sandboxes that the settings ask for; nothing is connected yet."""
    (chosen,) = (provider for provider in PROVIDERS if provider.kind == settings.sandbox)
    return chosen.open(settings, state_dir=state_dir, at_once=at_once)


def examine_providers(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Which of them can be used on this machine, in this environment."""
    for provider in PROVIDERS:
        yield from provider.examine(environment)
