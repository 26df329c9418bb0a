"""Signed tokens of the embedded stack: what its gateway is told about them, and how one is made."""

from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import jwt

Role = Literal["admin", "none"]

_ISSUER: Final = "assay up"
_AUDIENCE: Final = "assay"
_ROLES: Final = "roles"
_ADMIN: Final = "admin"


def gateway_environment(secret: str) -> dict[str, str]:
    """Settings with which the gateway takes the tokens that `issue` makes."""
    return {
        "ASSAY_JWT_SECRET": secret,
        "ASSAY_JWT_ISSUER": _ISSUER,
        "ASSAY_JWT_AUDIENCE": _AUDIENCE,
        "ASSAY_JWT_ADMIN_CLAIM": _ROLES,
        "ASSAY_JWT_ADMIN_VALUE": _ADMIN,
    }


def issue(secret: str, *, name: str, lifetime: timedelta, role: Role) -> str:
    now = datetime.now(UTC)
    claims = {
        "iss": _ISSUER,
        "aud": _AUDIENCE,
        "sub": name,
        "iat": now,
        "exp": now + lifetime,
        _ROLES: [_ADMIN] if role == "admin" else [],
    }
    return jwt.encode(claims, secret, algorithm="HS256")
