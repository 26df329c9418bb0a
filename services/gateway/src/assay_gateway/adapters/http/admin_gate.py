"""The middleware before every route of the admin API, those to come included."""

from collections.abc import Sequence
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from assay_contracts.rpc import ProblemError
from assay_gateway.adapters.http.admin import let_in
from assay_gateway.adapters.http.early_refusal import refuse
from assay_gateway.use_cases.authentication import Authenticate

ADMIN_PATH: Final = "/api/admin"
UNKNOWN_ADDRESS: Final = "unknown"


class AdminGate:
    """Lets admins pass to what is under `/api/admin`, before a route is looked for or a body read.

    Whoever is refused learns nothing of what is behind, and cannot send it much.
    """

    def __init__(self, app: ASGIApp, *, authenticate: Authenticate) -> None:
        self._app = app
        self._authenticate = authenticate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or not _is_for_admins(scope["path"]):
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        client = scope.get("client")
        try:
            let_in(
                scope,
                await self._authenticate(
                    _bearer_token(scope["headers"]), client[0] if client else UNKNOWN_ADDRESS
                ),
            )
        except ProblemError as error:
            await refuse(error, scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_for_admins(path: str) -> bool:
    return path == ADMIN_PATH or path.startswith(f"{ADMIN_PATH}/")


def _bearer_token(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Empty if there is none, or more than one header that a proxy might read otherwise."""
    shown = [value for name, value in headers if name == b"authorization"]
    if len(shown) != 1:
        return b""
    scheme, _, token = shown[0].partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""
