"""Daytona, as the table of providers has it: its settings, and nothing of its SDK."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final, Self

from pydantic import Field, SecretStr, model_validator

from assay_sandboxes.daytona import KIND
from assay_sandboxes.diagnosis import Finding
from assay_sandboxes.port import SandboxProvider
from assay_sandboxes.registration import ProviderSettings, Registration


class DaytonaSettings(ProviderSettings):
    """What Daytona reads from its environment."""

    daytona_api_key: SecretStr | None = Field(default=None, validation_alias="DAYTONA_API_KEY")
    """Key of the Daytona account; required where Daytona provides the sandboxes."""
    daytona_api_url: str | None = Field(default=None, validation_alias="DAYTONA_API_URL")
    """Address of Daytona's API; none means the public service."""
    daytona_target: str | None = Field(default=None, validation_alias="DAYTONA_TARGET")
    """Region in which Daytona makes sandboxes; none means the account's own."""
    daytona_snapshot: str | None = Field(default=None, validation_alias="ASSAY_DAYTONA_SNAPSHOT")
    """Daytona snapshot that is the base environment; none means the account's default."""
    daytona_ttl: timedelta = Field(
        default=timedelta(hours=1),
        ge=timedelta(minutes=1),
        validation_alias="ASSAY_DAYTONA_TTL",
    )
    """Age at which Daytona itself ends a sandbox, whatever became of the runner."""

    @model_validator(mode="after")
    def _has_a_key(self) -> Self:
        if self.sandbox == KIND and not self.daytona_api_key:
            raise ValueError(
                "ASSAY_SANDBOX is daytona and DAYTONA_API_KEY is not set: set it to a key of your "
                "Daytona account, or leave ASSAY_SANDBOX out to have sandboxes on this machine"
            )
        return self


def _open(settings: DaytonaSettings, *, state_dir: Path, at_once: int) -> SandboxProvider:
    del state_dir  # everything lies at Daytona
    from assay_sandboxes.daytona.provider import (  # noqa: PLC0415  # half a second of imports
        Account,
        DaytonaProvider,
    )

    assert settings.daytona_api_key is not None
    account = Account(
        api_key=settings.daytona_api_key.get_secret_value(),
        api_url=settings.daytona_api_url,
        target=settings.daytona_target,
        snapshot=settings.daytona_snapshot,
        egress=settings.egress_rules,
    )
    return DaytonaProvider(
        account,
        most=at_once,
        sandbox_ttl=settings.daytona_ttl,
        snapshot_ttl=settings.snapshot_ttl,
    )


def _examine(environment: Mapping[str, str]) -> Iterator[Finding]:
    if environment.get("DAYTONA_API_KEY"):
        yield Finding(KIND, "ok", "DAYTONA_API_KEY is set")
    else:
        yield Finding(KIND, "note", "DAYTONA_API_KEY is not set: sandboxes are made here")


DAYTONA: Final = Registration(kind=KIND, open=_open, examine=_examine)
