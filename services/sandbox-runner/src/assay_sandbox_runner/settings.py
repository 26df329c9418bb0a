from pydantic import Field
from pydantic_settings import SettingsConfigDict

from assay_agentkit.models import ModelSettings
from assay_sandboxes.providers import SandboxSettings
from assay_servicekit.settings import ServiceSettings


class Settings(ServiceSettings, ModelSettings, SandboxSettings):
    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    concurrency: int = Field(default=5, ge=1, validation_alias="ASSAY_RUNNER_CONCURRENCY")
    """Runs that this process carries out at once, and as many more in the background."""
    executor_model: str | None = Field(default=None, validation_alias="ASSAY_EXECUTOR_MODEL")
    """`provider:model` of the executing agents; none means the rehearsal model."""
    task_seconds: float = Field(default=240.0, gt=0, validation_alias="ASSAY_TASK_SECONDS")
    """Longest that an agent may work on one task."""
    task_model_calls: int = Field(default=25, ge=1, validation_alias="ASSAY_TASK_MODEL_CALLS")
    """Most model calls that an agent may make for one task."""
    command_seconds: float = Field(default=120.0, gt=0, validation_alias="ASSAY_COMMAND_SECONDS")
    """Longest that one command in a sandbox may take."""
    check_seconds: float = Field(default=30.0, gt=0, validation_alias="ASSAY_CHECK_SECONDS")
    """Longest that one check may take."""
    sandbox_memory_mb: int = Field(default=2048, ge=64, validation_alias="ASSAY_SANDBOX_MEMORY_MB")
    """Memory of one sandbox."""
