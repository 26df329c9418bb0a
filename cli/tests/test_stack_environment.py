"""Each service sees what it needs of the caller's environment, and no more."""

import pytest

from assay_cli.embedded.stack import SERVICES_WITH_MODELS, inherited_environment
from assay_contracts.topology import SERVICES, ServiceName

CALLER = {
    "PATH": "/usr/bin",
    "LANG": "C.UTF-8",
    "ASSAY_LOG_LEVEL": "debug",
    "ASSAY_MODEL_API_KEY": "key",
    "OPENAI_API_KEY": "key",
    "DAYTONA_API_KEY": "key",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector",
    "ASSAY_ADMIN_TOKEN": "token",
    "ASSAY_JWT_SECRET": "secret",
    "DATABASE_URL": "postgresql://elsewhere",
    "NATS_URL": "nats://elsewhere",
    "AWS_SECRET_ACCESS_KEY": "secret",
}
KEYS = {"ASSAY_MODEL_API_KEY", "OPENAI_API_KEY", "DAYTONA_API_KEY", "AWS_SECRET_ACCESS_KEY"}


@pytest.mark.parametrize("service", SERVICES)
def test_nobody_is_led_to_another_bus_or_database(service: ServiceName) -> None:
    seen = inherited_environment(service, CALLER)
    assert seen.keys().isdisjoint(
        {"ASSAY_ADMIN_TOKEN", "ASSAY_JWT_SECRET", "DATABASE_URL", "NATS_URL"}
    )
    assert seen["ASSAY_LOG_LEVEL"] == "debug"
    assert seen["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://collector"


@pytest.mark.parametrize("service", SERVICES)
def test_keys_go_only_to_those_who_call_models_or_sandboxes(service: ServiceName) -> None:
    seen = KEYS & inherited_environment(service, CALLER).keys()
    assert seen == (KEYS if service in SERVICES_WITH_MODELS else set())
