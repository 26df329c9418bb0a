"""Find out who shows a token."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from assay_contracts.rpc import Problem, ProblemError
from assay_gateway.domain.callers import Caller, one_client
from assay_gateway.domain.rate_limit import RateLimit
from assay_gateway.ports import TokenKind

KNOWN_TOKENS: Final = 1_000
TRUSTED_S: Final = 30.0
"""How long a token that was right is not checked again; never longer than it is valid."""


@dataclass(frozen=True, slots=True)
class _Proof:
    caller: Caller
    until: float
    """When it is to be given again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticate:
    """Tells who shows a token, and does not let one address guess for long.

    An address with too many failures is refused unheard, whatever token it shows, unless that
    token was right before: nobody at work is locked out by a neighbour who guesses.
    """

    tokens: Sequence[TokenKind]
    failures: RateLimit
    clock: Callable[[], float] = time.time
    _known: OrderedDict[bytes, _Proof] = field(default_factory=OrderedDict)
    """What tokens that were right have proven, by their digests, the last proven last."""

    async def __call__(self, token: bytes, address: str) -> Caller:
        """The admin who shows `token`, which is empty if none was shown. Raises ProblemError.

        With UNAUTHORIZED, FORBIDDEN, RATE_LIMITED, or SERVICE_UNAVAILABLE if it cannot be told.
        """
        if not token:
            # Nothing to check is no guess.
            raise unauthorized()
        digest = hashlib.sha256(token).digest()
        known = self._known.get(digest)
        if known is not None and self.clock() < known.until:
            caller = known.caller
        else:
            if known is None and self.failures:
                self.failures.check(one_client(address), "Too many tokens were not valid.")
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
            self.failures.count(one_client(address))
            raise unauthorized()
        until = self.clock() + TRUSTED_S
        if caller.expires_at is not None:
            until = min(until, caller.expires_at)
        self._known[digest] = _Proof(caller, until)
        self._known.move_to_end(digest)
        if len(self._known) > KNOWN_TOKENS:
            self._known.popitem(last=False)
        return caller

    async def _holder(self, token: bytes) -> Caller | None:
        for kind in self.tokens:
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
