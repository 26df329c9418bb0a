import pytest
from pydantic import ValidationError

from assay_gateway.settings import Settings

TOKEN = "hush: nobody may see this"
SECRET = "nobody may see this, and it is long enough"
SIGNED = {"ASSAY_JWT_ISSUER": "https://issuer.example", "ASSAY_JWT_AUDIENCE": "assay"}
BY_SECRET = {"ASSAY_JWT_SECRET": SECRET, **SIGNED}
BY_KEYS = {"ASSAY_JWKS_URL": "https://issuer.example/keys", **SIGNED}
WITH_TOKEN = {"ASSAY_ADMIN_TOKEN": TOKEN}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_URL", "nats://nowhere")
    for name in {*WITH_TOKEN, *BY_SECRET, *BY_KEYS}:
        monkeypatch.delenv(name, raising=False)


def read(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> Settings:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return Settings()


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        pytest.param({}, "ASSAY_ADMIN_TOKEN", id="nobody can come in"),
        pytest.param({"ASSAY_ADMIN_TOKEN": ""}, "ASSAY_ADMIN_TOKEN", id="empty token"),
        pytest.param({"ASSAY_ADMIN_TOKEN": "secret"}, "ASSAY_ADMIN_TOKEN", id="guessable token"),
        pytest.param(
            {**BY_SECRET, "ASSAY_JWT_SECRET": SECRET[:31]}, "ASSAY_JWT_SECRET", id="short secret"
        ),
        pytest.param({**BY_SECRET, **BY_KEYS}, "not both", id="secret and keys"),
        pytest.param({**BY_SECRET, "ASSAY_JWT_ISSUER": ""}, "ASSAY_JWT_ISSUER", id="no issuer"),
        pytest.param({**BY_KEYS, "ASSAY_JWT_AUDIENCE": ""}, "AUDIENCE", id="no audience"),
        pytest.param(
            {**BY_KEYS, "ASSAY_JWKS_URL": "http://issuer.example/keys"}, "https", id="plain http"
        ),
        pytest.param({**BY_KEYS, "ASSAY_JWKS_URL": "file:///keys"}, "https", id="a file"),
        pytest.param(
            {**BY_KEYS, "ASSAY_JWT_ALGORITHMS": "RS256,HS256"}, "ASSAY_JWT_ALGORITHMS", id="HS256"
        ),
        pytest.param(
            {**BY_KEYS, "ASSAY_JWT_ALGORITHMS": "none"}, "ASSAY_JWT_ALGORITHMS", id="none"
        ),
        pytest.param(
            {**BY_KEYS, "ASSAY_JWT_ALGORITHMS": ""}, "ASSAY_JWT_ALGORITHMS", id="no algorithm"
        ),
        pytest.param(
            {**WITH_TOKEN, "ASSAY_TRUSTED_PROXIES": "*"}, "ASSAY_TRUSTED_PROXIES", id="any proxy"
        ),
        pytest.param({**WITH_TOKEN, "ASSAY_CORS_ORIGINS": "*"}, "CORS_ORIGINS", id="any origin"),
        pytest.param(
            {**WITH_TOKEN, "ASSAY_CORS_ORIGINS": "https://a.example/"}, "CORS_ORIGINS", id="a path"
        ),
        pytest.param(
            {**WITH_TOKEN, "ASSAY_UPLOADS_PER_MINUTE": "0"}, "UPLOADS_PER_MINUTE", id="no uploads"
        ),
    ],
)
def test_there_is_no_gateway_with_an_open_or_a_broken_door(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], named: str
) -> None:
    with pytest.raises(ValidationError, match=named) as raised:
        read(monkeypatch, environment)

    assert TOKEN not in str(raised.value)
    assert SECRET[:31] not in str(raised.value)


@pytest.mark.parametrize(
    "environment",
    [
        WITH_TOKEN,
        BY_SECRET,
        BY_KEYS,
        {**WITH_TOKEN, **BY_KEYS},
        {**BY_KEYS, "ASSAY_JWKS_URL": "http://127.0.0.1:8080/keys"},
    ],
)
def test_each_way_in_is_enough(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    read(monkeypatch, environment)


def test_lists_are_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(
        monkeypatch,
        {
            **BY_KEYS,
            "ASSAY_JWT_ALGORITHMS": "ES256, EdDSA",
            "ASSAY_TRUSTED_PROXIES": "10.0.0.0/8,::1",
            "ASSAY_CORS_ORIGINS": "https://a.example, http://localhost:3000",
        },
    )

    assert settings.jwt_algorithms == ("ES256", "EdDSA")
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1")
    assert settings.cors_origins == ("https://a.example", "http://localhost:3000")


def test_what_is_wrong_with_one_setting_does_not_show_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NATS_URL")

    with pytest.raises(ValidationError, match="NATS_URL") as raised:
        read(monkeypatch, {**WITH_TOKEN, **BY_SECRET})

    assert TOKEN not in str(raised.value)
    assert SECRET not in str(raised.value)


def test_a_line_end_after_the_token_does_not_belong_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(monkeypatch, {"ASSAY_ADMIN_TOKEN": f"{TOKEN}\n"})
    assert settings.admin_token is not None
    assert settings.admin_token.get_secret_value() == TOKEN
