from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from assay_servicekit.settings import ServiceSettings


class Settings(ServiceSettings):
    # What is wrong with one setting must not print the others, which hold secrets.
    model_config = SettingsConfigDict(hide_input_in_errors=True)

    http_port: int = Field(default=8002, ge=1, le=65535, validation_alias="ASSAY_HTTP_PORT")
    admin_token: SecretStr = Field(min_length=1, validation_alias="ASSAY_ADMIN_TOKEN")
    """Whoever shows it is an admin."""
