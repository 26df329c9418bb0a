from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from assay_agentkit.models import ModelSettings
from assay_servicekit.settings import ServiceSettings


class Settings(ServiceSettings, ModelSettings):
    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    concurrency: int = Field(default=5, ge=1, validation_alias="ASSAY_RUNNER_CONCURRENCY")
    """Runs that this process carries out at once, and as many more of full tests."""
    executor_model: str | None = Field(default=None, validation_alias="ASSAY_EXECUTOR_MODEL")
    """Model of the executing agents, as `provider:model`; none means the rehearsal model."""
    sandbox: Literal["bubblewrap", "daytona"] = Field(
        default="bubblewrap", validation_alias="ASSAY_SANDBOX"
    )
    """Who provides the sandboxes."""
    daytona_api_key: SecretStr | None = Field(default=None, validation_alias="DAYTONA_API_KEY")
    """Needed where Daytona provides them."""
    daytona_api_url: str | None = Field(default=None, validation_alias="DAYTONA_API_URL")
    """The service's own where there is none."""
    daytona_target: str | None = Field(default=None, validation_alias="DAYTONA_TARGET")
    """The region."""
    daytona_snapshot: str | None = Field(default=None, validation_alias="ASSAY_DAYTONA_SNAPSHOT")
    """The base environment; the account's default where there is none."""
    daytona_ttl: timedelta = Field(
        default=timedelta(hours=1),
        ge=timedelta(minutes=1),
        validation_alias="ASSAY_DAYTONA_TTL",
    )
    """After this, Daytona ends a sandbox, whatever became of the runner."""
    snapshot_ttl: timedelta = Field(
        default=timedelta(hours=24), validation_alias="ASSAY_SNAPSHOT_TTL"
    )
    """After this, a snapshot that nobody deleted is swept up."""

    task_seconds: float = Field(default=240.0, gt=0, validation_alias="ASSAY_TASK_SECONDS")
    """Seconds that an agent may work on one task."""
    task_model_calls: int = Field(default=25, ge=1, validation_alias="ASSAY_TASK_MODEL_CALLS")
    """Model calls that an agent may make for one task."""
    command_seconds: float = Field(default=120.0, gt=0, validation_alias="ASSAY_COMMAND_SECONDS")
    """Seconds that one command in a sandbox may take."""
    check_seconds: float = Field(default=30.0, gt=0, validation_alias="ASSAY_CHECK_SECONDS")
    """Seconds that one check of a task may take."""
    sandbox_memory_mb: int = Field(default=2048, ge=64, validation_alias="ASSAY_SANDBOX_MEMORY_MB")
    """Memory that one sandbox may use, in MiB."""

    @model_validator(mode="after")
    def _has_a_key(self) -> Self:
        if self.sandbox == "daytona" and not self.daytona_api_key:
            raise ValueError(
                "ASSAY_SANDBOX is daytona and DAYTONA_API_KEY is not set: set it to a key of your "
                "Daytona account, or leave ASSAY_SANDBOX out to have sandboxes on this machine"
            )
        return self
