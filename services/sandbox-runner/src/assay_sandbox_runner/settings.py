from typing import Final

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from assay_agentkit.models import ModelSettings
from assay_sandboxes.port import Limits
from assay_sandboxes.providers import SandboxSettings
from assay_servicekit.settings import ServiceSettings

MIB: Final = 1024**2


class Settings(ServiceSettings, ModelSettings, SandboxSettings):
    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    concurrency: int = Field(default=5, ge=1, validation_alias="ASSAY_RUNNER_CONCURRENCY")
    """Runs that this process carries out at once, and as many more of full tests."""
    executor_model: str | None = Field(default=None, validation_alias="ASSAY_EXECUTOR_MODEL")
    """Model of the executing agents, as `provider:model`; none means the rehearsal model."""
    task_seconds: float = Field(default=240.0, gt=0, validation_alias="ASSAY_TASK_SECONDS")
    """Seconds that an agent may work on one task."""
    task_model_calls: int = Field(default=25, ge=1, validation_alias="ASSAY_TASK_MODEL_CALLS")
    """Model calls that an agent may make for one task."""
    command_seconds: float = Field(default=180.0, gt=0, validation_alias="ASSAY_COMMAND_SECONDS")
    """Seconds that one command in a sandbox may take."""
    install_seconds: float = Field(default=600.0, gt=0, validation_alias="ASSAY_INSTALL_SECONDS")
    """Seconds that installing packages in a sandbox may take at a time."""
    check_seconds: float = Field(default=30.0, gt=0, validation_alias="ASSAY_CHECK_SECONDS")
    """Seconds that one check of a task may take."""
    sandbox_memory_mb: int = Field(default=4096, ge=64, validation_alias="ASSAY_SANDBOX_MEMORY_MB")
    """Memory that one sandbox may use, in MiB."""
    sandbox_file_mb: int = Field(default=4096, ge=1, validation_alias="ASSAY_SANDBOX_FILE_MB")
    """Size of the largest file that may be written in a sandbox, in MiB."""
    sandbox_space_mb: int = Field(default=8192, ge=16, validation_alias="ASSAY_SANDBOX_SPACE_MB")
    """What may be installed in one sandbox beyond its environment, in MiB; where it runs on this
    machine, that is memory."""
    sandbox_files: int = Field(default=250_000, ge=1000, validation_alias="ASSAY_SANDBOX_FILES")
    """Files, folders and links that may be installed in one sandbox beyond its environment."""
    sandbox_workspace_mb: int = Field(
        default=2048, ge=16, validation_alias="ASSAY_SANDBOX_WORKSPACE_MB"
    )
    """What may lie in a sandbox's workspace, and as much again in its `/tmp`, in MiB."""
    sandbox_processes: int = Field(default=512, ge=16, validation_alias="ASSAY_SANDBOX_PROCESSES")
    """Processes and threads that one sandbox may have at once."""

    def limits(self, *, output_bytes: int) -> Limits:
        """What one sandbox may use."""
        return Limits(
            command_seconds=self.command_seconds,
            install_seconds=self.install_seconds,
            output_bytes=output_bytes,
            memory_bytes=self.sandbox_memory_mb * MIB,
            processes=self.sandbox_processes,
            file_bytes=self.sandbox_file_mb * MIB,
            workspace_bytes=self.sandbox_workspace_mb * MIB,
            home_bytes=self.sandbox_space_mb * MIB,
            home_files=self.sandbox_files,
        )
