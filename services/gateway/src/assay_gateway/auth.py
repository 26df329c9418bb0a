"""Who may come in."""

import hashlib
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Request, Security
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from assay_contracts.rpc import Problem, ProblemError
from assay_gateway.domain import Caller
from assay_gateway.limits import RateLimit
from assay_gateway.ports import Tokens

CALLER: Final = "assay.caller"
"""Where in a request's scope the guard leaves who is asking."""
KNOWN_TOKENS: Final = 1_000
TRUSTED_S: Final = 30.0
"""How long a token that was right is not checked again; never longer than it is valid."""
IPV6_OF_ONE_CLIENT: Final = 64
"""Bits of an address that a provider gives to one customer; the rest is theirs to change."""


@dataclass(frozen=True, slots=True)
class _Proof:
    caller: Caller
    until: float
    """When it is to be given again."""


class Authenticate:
    """Tells who shows a token, and does not let one address guess for long.

    An address with too many failures is refused unheard, whatever token it shows, unless that
    token was right before: nobody at work is locked out by a neighbour who guesses.
    """

    def __init__(
        self,
        tokens: Sequence[Tokens],
        failures: RateLimit,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._tokens = tokens
        self._failures = failures
        self._clock = clock
        self._known: OrderedDict[bytes, _Proof] = OrderedDict()
        """What tokens that were right have proven, by their digests, the last proven last."""

    async def __call__(self, headers: Sequence[tuple[bytes, bytes]], address: str) -> Caller:
        """The admin who asks. Raises ProblemError.

        With UNAUTHORIZED, FORBIDDEN, RATE_LIMITED, or SERVICE_UNAVAILABLE if it cannot be told.
        """
        token = _bearer_token([value for name, value in headers if name == b"authorization"])
        if not token:
            # Nothing to check is no guess.
            raise unauthorized()
        digest = hashlib.sha256(token).digest()
        known = self._known.get(digest)
        if known is not None and self._clock() < known.until:
            caller = known.caller
        else:
            if known is None and self._failures:
                self._failures.check(one_client(address), "Too many tokens were not valid.")
            caller = await self._prove(token, digest, address)
        if not caller.is_admin:
            raise ProblemError(
                Problem(code="FORBIDDEN", message="This needs a token with the admin role.")
            )
        return caller

    async def _prove(self, token: bytes, digest: bytes, address: str) -> Caller:
        caller = await self._holder(token)
        if caller is None:
            self._known.pop(digest, None)
            self._failures.count(one_client(address))
            raise unauthorized()
        until = self._clock() + TRUSTED_S
        if caller.expires_at is not None:
            until = min(until, caller.expires_at)
        self._known[digest] = _Proof(caller, until)
        self._known.move_to_end(digest)
        if len(self._known) > KNOWN_TOKENS:
            self._known.popitem(last=False)
        return caller

    async def _holder(self, token: bytes) -> Caller | None:
        for kind in self._tokens:
            if caller := await kind.holder(token):
                return caller
        return None


def unauthorized() -> ProblemError:
    return ProblemError(
        Problem(
            code="UNAUTHORIZED",
            message="This needs a valid token: send `Authorization: Bearer <token>`.",
        )
    )


def _bearer_token(shown: Sequence[bytes]) -> bytes:
    """Empty if there is none, or more than one header that a proxy might read otherwise."""
    if len(shown) != 1:
        return b""
    scheme, _, token = shown[0].partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def one_client(address: str) -> str:
    """What is counted together: an IPv4 address, or all that one IPv6 client may choose from."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((ip, IPV6_OF_ONE_CLIENT), strict=False))


class _Admin(SecurityBase):
    """Gives a handler the caller that the guard let in, and shows the scheme in OpenAPI."""

    scheme_name = "admin"
    model = HTTPBearer(
        bearerFormat="JWT",
        description="A JSON Web Token of an admin, or the token of this machine.",
    )

    async def __call__(self, request: Request) -> Caller:
        caller = request.scope.get(CALLER)
        if not isinstance(caller, Caller):
            # Fails closed: a route of ours that some path leads to past the guard.
            raise unauthorized()
        return caller


require_admin: Final = _Admin()
Admin = Annotated[Caller, Security(require_admin)]
"""The parameter of a handler that needs to know who is asking."""
