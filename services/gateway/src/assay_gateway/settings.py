import ipaddress
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from assay_servicekit.settings import ServiceSettings

MIN_ADMIN_TOKEN: Final = 16
MIN_SECRET_BYTES: Final = 32
"""HS256 is no stronger than its secret is long."""

Asymmetric = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"
]


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(each.strip() for each in value.split(",") if each.strip())
    return value


CommaSeparated = (NoDecode, BeforeValidator(_split))


class Settings(ServiceSettings):
    # What is wrong with one setting must not print the others, which hold secrets.
    model_config = SettingsConfigDict(hide_input_in_errors=True)

    http_port: int = Field(default=8002, ge=1, le=65535, validation_alias="ASSAY_HTTP_PORT")
    """Port of the REST API and the admin page."""
    admin_token: SecretStr | None = Field(
        default=None, min_length=MIN_ADMIN_TOKEN, validation_alias="ASSAY_ADMIN_TOKEN"
    )
    """Whoever shows this text is an admin, beside signed tokens or instead of them.

    16 characters or more. This, `ASSAY_JWT_SECRET` or `ASSAY_JWKS_URL` is required."""
    jwt_secret: SecretStr | None = Field(default=None, validation_alias="ASSAY_JWT_SECRET")
    """JSON Web Tokens signed with this secret by HS256 are accepted; 32 bytes or more."""
    jwks_url: str | None = Field(default=None, validation_alias="ASSAY_JWKS_URL")
    """JSON Web Tokens signed with a key published here are accepted.

    https, or http on the loopback; not together with `ASSAY_JWT_SECRET`."""
    jwt_algorithms: Annotated[tuple[Asymmetric, ...], *CommaSeparated] = Field(
        default=("RS256", "ES256"), min_length=1, validation_alias="ASSAY_JWT_ALGORITHMS"
    )
    """Algorithms that keys at `ASSAY_JWKS_URL` may sign with, separated by commas."""
    jwt_issuer: str = Field(default="", validation_alias="ASSAY_JWT_ISSUER")
    """What `iss` of a signed token must be; required where signed tokens are accepted."""
    jwt_audience: str = Field(default="", validation_alias="ASSAY_JWT_AUDIENCE")
    """What `aud` of a signed token must be; required where signed tokens are accepted."""
    jwt_admin_claim: str = Field(
        default="roles", min_length=1, validation_alias="ASSAY_JWT_ADMIN_CLAIM"
    )
    """The claim, a text or a list, that tells an admin's token from others."""
    jwt_admin_value: str = Field(
        default="admin", min_length=1, validation_alias="ASSAY_JWT_ADMIN_VALUE"
    )
    """What that claim is, or holds, in an admin's token."""
    auth_failures_per_minute: int = Field(
        default=30, ge=1, validation_alias="ASSAY_AUTH_FAILURES_PER_MINUTE"
    )
    """Wrong tokens that one address may show in a minute before it is answered 429."""
    uploads_per_minute: int = Field(default=120, ge=1, validation_alias="ASSAY_UPLOADS_PER_MINUTE")
    """Uploads that one caller may send in a minute before being answered 429."""
    connections_per_address: int = Field(
        default=256, ge=1, validation_alias="ASSAY_CONNECTIONS_PER_ADDRESS"
    )
    """Connections that one address may have at once, trusted proxies apart: of more, the one goes
    that has waited longest without a whole request."""
    trusted_proxies: Annotated[tuple[str, ...], *CommaSeparated] = Field(
        default=(), validation_alias="ASSAY_TRUSTED_PROXIES"
    )
    """Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed.

    Addresses or networks, separated by commas."""
    cors_origins: Annotated[tuple[str, ...], *CommaSeparated] = Field(
        default=(), validation_alias="ASSAY_CORS_ORIGINS"
    )
    """Sites whose pages may use the API from a browser, such as `https://admin.example`.

    Separated by commas."""

    @field_validator("admin_token", mode="before")
    @classmethod
    def _as_a_header_carries_it(cls, token: object) -> object:
        return token.strip() if isinstance(token, str) else token

    @field_validator("jwt_secret")
    @classmethod
    def _long_enough(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None and len(secret.get_secret_value().encode()) < MIN_SECRET_BYTES:
            raise ValueError(f"ASSAY_JWT_SECRET needs at least {MIN_SECRET_BYTES} bytes")
        return secret

    @field_validator("jwks_url")
    @classmethod
    def _not_changed_on_the_way(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "")
        is_secure = parts.scheme == "https" or (
            parts.scheme == "http" and _is_loopback(parts.hostname or "")
        )
        if url is not None and not (is_secure and parts.hostname):
            raise ValueError("ASSAY_JWKS_URL must be https://…, or http:// on the loopback")
        return url

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies:
            ipaddress.ip_network(proxy)
        return proxies

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            parts = urlsplit(origin)
            if origin != f"{parts.scheme}://{parts.netloc}" or parts.scheme not in (
                "http",
                "https",
            ):
                raise ValueError("ASSAY_CORS_ORIGINS takes origins such as https://admin.example")
        return origins

    @model_validator(mode="after")
    def _somebody_can_come_in(self) -> Self:
        ways = (self.admin_token, self.jwt_secret, self.jwks_url)
        if not any(ways):
            raise ValueError("set ASSAY_ADMIN_TOKEN, ASSAY_JWT_SECRET or ASSAY_JWKS_URL")
        if self.jwt_secret and self.jwks_url:
            raise ValueError("set ASSAY_JWT_SECRET or ASSAY_JWKS_URL, not both")
        if (self.jwt_secret or self.jwks_url) and not (self.jwt_issuer and self.jwt_audience):
            raise ValueError("signed tokens need ASSAY_JWT_ISSUER and ASSAY_JWT_AUDIENCE")
        return self


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
