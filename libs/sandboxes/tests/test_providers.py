"""Who provides the sandboxes is a matter of settings."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from assay_sandboxes.port import SandboxProvider
from assay_sandboxes.providers import PROVIDERS, SandboxSettings, open_provider


def opened(settings: SandboxSettings, folder: Path) -> SandboxProvider:
    return open_provider(settings, state_dir=folder, at_once=2)


def test_daytona_without_a_key_is_refused_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SANDBOX", "daytona")
    monkeypatch.delenv("DAYTONA_API_KEY", raising=False)

    with pytest.raises(ValidationError, match="DAYTONA_API_KEY is not set"):
        SandboxSettings()


def test_daytona_is_chosen_by_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_SANDBOX", "daytona")
    monkeypatch.setenv("DAYTONA_API_KEY", "hunter2")
    monkeypatch.setenv("DAYTONA_API_URL", "http://localhost:1/api")
    monkeypatch.setenv("ASSAY_DAYTONA_SNAPSHOT", "assay-base")

    settings = SandboxSettings()

    assert opened(settings, tmp_path).kind == "daytona"
    assert "hunter2" not in repr(settings)


def test_sandboxes_are_made_here_unless_told_otherwise(tmp_path: Path) -> None:
    assert opened(SandboxSettings(), tmp_path).kind == "bubblewrap"


def test_a_provider_that_is_not_there_cannot_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SANDBOX", "docker")

    with pytest.raises(ValidationError, match="choose 'bubblewrap' or 'daytona'"):
        SandboxSettings()


def test_every_provider_says_how_it_is() -> None:
    for provider in PROVIDERS:
        assert list(provider.examine({}))
