"""Who may come in."""

import hmac
from typing import Annotated

from fastapi import Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import SecretStr

from assay_contracts.rpc import Problem, ProblemError
from assay_gateway.domain import Caller

BEARER = HTTPBearer(
    auto_error=False, scheme_name="admin", description="The token of an admin, as a bearer token."
)


class Authenticate:
    """A dependency that lets only the holder of the admin token pass."""

    def __init__(self, admin_token: SecretStr) -> None:
        self._admin_token = admin_token.get_secret_value().encode()

    async def __call__(
        self, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)]
    ) -> Caller:
        # Header text is Latin-1 by definition; this gives back the bytes that were sent.
        shown = credentials.credentials.encode("latin-1") if credentials else b""
        if not hmac.compare_digest(shown, self._admin_token):
            raise ProblemError(
                Problem(
                    code="UNAUTHORIZED",
                    message="This needs a valid token: send `Authorization: Bearer <token>`.",
                )
            )
        return Caller(name="admin")
