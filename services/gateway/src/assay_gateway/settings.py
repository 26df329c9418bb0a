from pydantic import Field, SecretStr

from assay_servicekit.settings import ServiceSettings


class Settings(ServiceSettings):
    http_port: int = Field(default=8002, ge=1, le=65535, validation_alias="ASSAY_HTTP_PORT")
    admin_token: SecretStr = Field(min_length=1, validation_alias="ASSAY_ADMIN_TOKEN")
    """Whoever shows it is an admin."""
