"""The tokens that are taken: the one of this machine, and JSON Web Tokens."""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final, Protocol

import jwt
import structlog
from jwt.types import Options
from pydantic import SecretStr

from assay_gateway.domain.callers import Caller, names_role

LEEWAY_S: Final = 30
"""How far the issuer's clock may be from ours."""
MAX_NAME: Final = 200
OPTIONS: Final[Options] = {
    "require": ["exp", "iss", "aud", "sub"],
    "enforce_minimum_key_length": True,
}

log = structlog.get_logger(__name__)


class MachineToken:
    """One text that whoever shows it is an admin by."""

    def __init__(self, token: SecretStr) -> None:
        self._digest = hashlib.sha256(token.get_secret_value().encode()).digest()

    async def holder(self, token: bytes) -> Caller | None:
        # Of digests, so that the time tells nothing of the length either.
        if hmac.compare_digest(hashlib.sha256(token).digest(), self._digest):
            return Caller(name="admin", is_admin=True)
        return None


class Keys(Protocol):
    """What signatures are checked with; the algorithms are those of its kind of key alone."""

    @property
    def algorithms(self) -> tuple[str, ...]: ...

    async def find(self, token: bytes, /) -> jwt.PyJWK | bytes:
        """Raises PyJWTError if no key of ours can have signed this token.

        Raises ProblemError with SERVICE_UNAVAILABLE if that cannot be told for now.
        """
        ...


class SharedSecret:
    algorithms = ("HS256",)

    def __init__(self, secret: SecretStr) -> None:
        self._secret = secret.get_secret_value().encode()

    async def find(self, _: bytes, /) -> bytes:
        return self._secret


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """What a signed token must say."""

    issuer: str
    audience: str
    admin_claim: str
    admin_value: str


class SignedTokens:
    """JSON Web Tokens. Why one is refused is in the log, and nowhere else."""

    def __init__(self, keys: Keys, rules: TokenRules) -> None:
        self._keys = keys
        self._rules = rules

    async def holder(self, token: bytes) -> Caller | None:
        try:
            claims = jwt.decode(
                token,
                await self._keys.find(token),
                algorithms=self._keys.algorithms,
                issuer=self._rules.issuer,
                audience=self._rules.audience,
                leeway=LEEWAY_S,
                options=OPTIONS,
            )
        except jwt.PyJWTError as error:
            log.info("token_refused", reason=f"{type(error).__name__}: {error}")
            return None
        name = claims["sub"]
        if not 0 < len(name) <= MAX_NAME or not name.isprintable():
            log.info("token_refused", reason="The claim `sub` is no name.")
            return None
        role = claims.get(self._rules.admin_claim)
        return Caller(
            name=name,
            is_admin=names_role(role, self._rules.admin_value),
            expires_at=int(claims["exp"]) + LEEWAY_S,
        )
