from pydantic import Field

from assay_servicekit.settings import ServiceSettings


class Settings(ServiceSettings):
    strict: bool = Field(default=False, validation_alias="ASSAY_INGEST_STRICT")
    """Whether warnings of the format check refuse an upload as errors do."""
    concurrency: int = Field(default=2, ge=1, validation_alias="ASSAY_INGEST_CONCURRENCY")
    """Uploads that are unpacked and checked at once; the rest wait."""
