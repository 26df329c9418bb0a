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
    """Address of the bus, `nats://user:password@host:port`, with the service's own bus user."""
    http_host: str = Field(default="127.0.0.1", validation_alias="ASSAY_HTTP_HOST")
    """Address to listen on for HTTP: health, and in the gateway the REST API."""
    http_port: int = Field(default=8080, ge=1, le=65535, validation_alias="ASSAY_HTTP_PORT")
    """Port to listen on for HTTP; the gateway has a default of its own."""
    metrics_host: str = Field(default="127.0.0.1", validation_alias="ASSAY_METRICS_HOST")
    """Address to listen on for metrics. They ask for no token: keep it to who collects them."""
    metrics_port: int = Field(default=9464, ge=1, le=65535, validation_alias="ASSAY_METRICS_PORT")
    """Port of `/metrics`, apart from the one that users reach."""
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", validation_alias="ASSAY_LOG_LEVEL"
    )
    """The least severe messages that are logged."""
    handover_s: float = Field(default=2.0, ge=0, validation_alias="ASSAY_HANDOVER_S")
    """Seconds that work under way may go on after a stop signal before another replica gets it."""
    otlp_endpoint: str | None = Field(default=None, validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT")
    """OpenTelemetry collector that telemetry traces are sent to; none means that none are."""
    state_dir: Path = Field(default=Path("/var/lib/assay"), validation_alias="ASSAY_STATE_DIR")
    """Scratch folder on this machine. Bubblewrap's snapshots are all that must survive in it."""
