from pydantic import Field
from pydantic_settings import SettingsConfigDict

from assay_agentkit.models import ModelSettings
from assay_servicekit.settings import ServiceSettings


class Settings(ServiceSettings, ModelSettings):
    """The judge's settings, read once from its environment."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    judge_model: str | None = Field(default=None, validation_alias="ASSAY_JUDGE_MODEL")
    """Model that plans and grades, as `provider:model`; none means the rehearsal model."""
    report_model: str | None = Field(default=None, validation_alias="ASSAY_REPORT_MODEL")
    """Model that writes reports, as `provider:model`; none means `ASSAY_JUDGE_MODEL`."""
    judge_sees_images: bool | None = Field(default=None, validation_alias="ASSAY_JUDGE_SEES_IMAGES")
    """Whether graders are shown pictures that a task made; none means if the model can see."""
    judge_samples: int = Field(default=1, ge=1, le=9, validation_alias="ASSAY_JUDGE_SAMPLES")
    """How often each task is graded; the median counts."""
    judge_timeout_s: float = Field(default=180.0, gt=0, validation_alias="ASSAY_JUDGE_TIMEOUT_S")
    """Seconds that one answer of an agent may take, with all its model calls and tools."""
    judge_model_calls: int = Field(default=25, ge=1, validation_alias="ASSAY_JUDGE_MODEL_CALLS")
    """Model calls that one answer of an agent may take."""
    judge_concurrency: int = Field(default=5, ge=1, validation_alias="ASSAY_JUDGE_CONCURRENCY")
    """Work items of one kind under way at once, and as many more of full tests."""
