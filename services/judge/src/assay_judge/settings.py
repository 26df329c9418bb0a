from pydantic import Field
from pydantic_settings import SettingsConfigDict

from assay_agentkit.models import ModelSettings
from assay_servicekit.settings import ServiceSettings


class Settings(ServiceSettings, ModelSettings):
    """The judge's settings, read once from its environment."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    judge_model: str | None = Field(default=None, validation_alias="ASSAY_JUDGE_MODEL")
    """`provider:model` that plans and grades; none means rehearsal."""
    report_model: str | None = Field(default=None, validation_alias="ASSAY_REPORT_MODEL")
    """`provider:model` that writes reports; none means the judge's."""
    judge_sees_images: bool | None = Field(default=None, validation_alias="ASSAY_JUDGE_SEES_IMAGES")
    """Whether graders are shown images as pictures; none means as the model's profile says."""
    judge_samples: int = Field(default=1, ge=1, le=9, validation_alias="ASSAY_JUDGE_SAMPLES")
    """Grades taken for each task; their median counts."""
    judge_timeout_s: float = Field(default=180.0, gt=0, validation_alias="ASSAY_JUDGE_TIMEOUT_S")
    """For one answer of an agent, all its model calls and tools included."""
    judge_model_calls: int = Field(default=25, ge=1, validation_alias="ASSAY_JUDGE_MODEL_CALLS")
    """Model calls that one answer of an agent may take."""
    judge_concurrency: int = Field(default=5, ge=1, validation_alias="ASSAY_JUDGE_CONCURRENCY")
    """Pieces of work of one kind under way at once, and as many more in the background."""
