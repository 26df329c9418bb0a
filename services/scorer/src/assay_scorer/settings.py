from datetime import timedelta

from pydantic import Field, SecretStr

from assay_servicekit.settings import ServiceSettings


class Settings(ServiceSettings):
    database_url: SecretStr = Field(validation_alias="DATABASE_URL")
    """`postgresql+asyncpg://…`"""
    max_active: int = Field(default=5, ge=1, validation_alias="ASSAY_MAX_ACTIVE_VALIDATIONS")
    reconcile_every_s: float = Field(default=10.0, gt=0, validation_alias="ASSAY_RECONCILE_EVERY_S")
    validation_tokens: int | None = Field(
        default=2_000_000, ge=1, validation_alias="ASSAY_VALIDATION_TOKENS"
    )
    """What models may use for one validation, read and written together."""
    snapshot_ttl: timedelta = Field(
        default=timedelta(hours=24), validation_alias="ASSAY_SNAPSHOT_TTL"
    )
    """How long the sandboxes keep a candidate: it has to be approved within that time."""
