from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    """Settings every service reads, once, from its environment."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        populate_by_name=True,
        # What is wrong is named; its neighbours in the environment may be secrets.
        hide_input_in_errors=True,
    )

    nats_url: SecretStr = Field(validation_alias="NATS_URL")
    """`nats://user:password@host:port`, with the service's own bus user."""
    http_host: str = Field(default="127.0.0.1", validation_alias="ASSAY_HTTP_HOST")
    http_port: int = Field(default=8080, ge=1, le=65535, validation_alias="ASSAY_HTTP_PORT")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", validation_alias="ASSAY_LOG_LEVEL"
    )
    handover_s: float = Field(default=2.0, ge=0, validation_alias="ASSAY_HANDOVER_S")
    """How long work under way may go on after a stop signal before it is handed over."""
    otlp_endpoint: str | None = Field(default=None, validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT")
    """Where traces go; none means nowhere."""
    state_dir: Path = Field(default=Path("/var/lib/assay"), validation_alias="ASSAY_STATE_DIR")
    """Scratch space on this machine; nothing in it is needed after a restart but snapshots."""
