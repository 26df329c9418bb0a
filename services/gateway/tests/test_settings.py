import pytest
from pydantic import ValidationError

from assay_gateway.settings import Settings


@pytest.mark.parametrize("token", [None, ""])
def test_there_is_no_gateway_without_a_token(
    monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    monkeypatch.setenv("NATS_URL", "nats://nowhere")
    monkeypatch.delenv("ASSAY_ADMIN_TOKEN", raising=False)
    if token is not None:
        monkeypatch.setenv("ASSAY_ADMIN_TOKEN", token)

    with pytest.raises(ValidationError, match="ASSAY_ADMIN_TOKEN"):
        Settings()


def test_what_is_wrong_with_one_setting_does_not_show_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASSAY_ADMIN_TOKEN", "hush")
    monkeypatch.delenv("NATS_URL", raising=False)

    with pytest.raises(ValidationError, match="NATS_URL") as raised:
        Settings()

    assert "hush" not in str(raised.value)
