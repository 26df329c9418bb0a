"""Who provides the sandboxes is a matter of settings."""

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from assay_sandbox_runner.app import open_provider
from assay_sandbox_runner.settings import Settings


@pytest.fixture(autouse=True)
def on_a_bus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_URL", "nats://localhost:4222")


def test_daytona_without_a_key_is_refused_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SANDBOX", "daytona")
    monkeypatch.delenv("DAYTONA_API_KEY", raising=False)

    with pytest.raises(ValidationError, match="DAYTONA_API_KEY is not set"):
        Settings()


def test_daytona_is_chosen_by_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SANDBOX", "daytona")
    monkeypatch.setenv("DAYTONA_API_KEY", "hunter2")
    monkeypatch.setenv("DAYTONA_API_URL", "http://localhost:1/api")
    monkeypatch.setenv("ASSAY_DAYTONA_SNAPSHOT", "assay-base")

    settings = Settings()

    assert open_provider(settings).kind == "daytona"
    assert "hunter2" not in repr(settings)


def test_sandboxes_are_made_here_unless_told_otherwise(tmp_path: Path) -> None:
    settings = Settings(nats_url=SecretStr("nats://localhost:4222"), state_dir=tmp_path)

    assert open_provider(settings).kind == "bubblewrap"
