from datetime import timedelta

from pydantic import Field, SecretStr

from assay_contracts.reports import DependencyMode
from assay_scorer.domain.admission import AdmissionRules
from assay_servicekit.settings import ServiceSettings


class Settings(ServiceSettings):
    database_url: SecretStr = Field(validation_alias="DATABASE_URL")
    """`postgresql+asyncpg://…`"""
    max_active: int = Field(default=5, ge=1, validation_alias="ASSAY_MAX_ACTIVE_VALIDATIONS")
    max_full_test_skills: int = Field(
        default=5, ge=1, validation_alias="ASSAY_MAX_FULL_TEST_SKILLS"
    )
    """Skills of a full test that are under way at once, apart from the active validations."""
    reconcile_every_s: float = Field(default=10.0, gt=0, validation_alias="ASSAY_RECONCILE_EVERY_S")
    validation_tokens: int | None = Field(
        default=2_000_000, ge=1, validation_alias="ASSAY_VALIDATION_TOKENS"
    )
    """What models may use for one validation, read and written together."""
    dependency_mode: DependencyMode = Field(
        default="lenient", validation_alias="ASSAY_DEPENDENCY_MODE"
    )
    """Whether packages that nothing declared needs are warned of, or fail the validation."""
    keep_days: int = Field(default=90, ge=1, validation_alias="ASSAY_KEEP_DAYS")
    """How long traces and reports of validations that newer ones replaced are kept."""

    @property
    def keep(self) -> timedelta:
        return timedelta(days=self.keep_days)

    @property
    def admission_rules(self) -> AdmissionRules:
        return AdmissionRules(
            max_active=self.max_active,
            max_full_test_skills=self.max_full_test_skills,
            token_budget=self.validation_tokens,
            dependency_mode=self.dependency_mode,
        )
