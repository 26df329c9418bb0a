"""The admin who asks, as a parameter of a route."""

from typing import Annotated, Final

from fastapi import Request, Security
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase
from starlette.types import Scope

from assay_gateway.domain.callers import Caller
from assay_gateway.use_cases.authentication import unauthorized

_CALLER: Final = "assay.caller"


def let_in(scope: Scope, caller: Caller) -> None:
    """Note in a request who is asking, once that is proven."""
    scope[_CALLER] = caller


def caller_of(scope: Scope) -> Caller:
    """Whoever was let in. Raises ProblemError with UNAUTHORIZED if nobody was."""
    caller = scope.get(_CALLER)
    if not isinstance(caller, Caller):
        # Fails closed: a route of ours that some path leads to past the gate.
        raise unauthorized()
    return caller


class _Admin(SecurityBase):
    """Gives a route the caller that the gate let in, and shows the scheme in OpenAPI."""

    scheme_name = "admin"
    model = HTTPBearer(
        bearerFormat="JWT",
        description="A JSON Web Token of an admin, or the token of this machine.",
    )

    async def __call__(self, request: Request) -> Caller:
        return caller_of(request.scope)


require_admin: Final = _Admin()
Admin = Annotated[Caller, Security(require_admin)]
"""The parameter of a route that needs to know who is asking."""
