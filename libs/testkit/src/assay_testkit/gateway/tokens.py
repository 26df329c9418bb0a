"""Tokens, right and wrong, and an issuer that publishes its keys over HTTP."""

import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

ISSUER: Final = "https://issuer.example"
AUDIENCE: Final = "assay"
SECRET: Final = "a secret for tests, of enough bytes"
HOUR_S: Final = 3600

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def claims(**changed: object) -> dict[str, object]:
    """What the token of an admin says; a claim changed to None is left out."""
    now = int(time.time())
    said = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ada",
        "iat": now,
        "exp": now + HOUR_S,
        "roles": ["admin"],
        **changed,
    }
    return {name: value for name, value in said.items() if value is not None}


def secret_token(said: dict[str, object] | None = None, secret: str = SECRET) -> str:
    return jwt.encode(claims() if said is None else said, secret, "HS256")


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def published(key: PrivateKey, key_id: str) -> dict[str, object]:
    """The public half, as it stands in a set of keys."""
    if isinstance(key, rsa.RSAPrivateKey):
        data = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        data = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**data, "kid": key_id, "use": "sig"}


class Issuer:
    """A context manager: publishes `keys` at `url`, signs with the last of them."""

    def __init__(self) -> None:
        self.keys: dict[str, PrivateKey] = {"first": new_key()}
        self.others: list[Mapping[str, object]] = []
        """Published beside the keys."""
        self.body: bytes | None = None
        """Answered instead of the keys."""
        self.status = 200
        self.fetched = 0
        self.hold = threading.Event()
        """Nothing is answered while it is cleared."""
        self.hold.set()
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/keys"

    def start(self) -> None:
        """On the same port as before, if there was one."""
        issuer = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetched += 1
                issuer.hold.wait()
                body = issuer.body if issuer.body is not None else issuer.document()
                self.send_response(issuer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Answer)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self.hold.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def document(self) -> bytes:
        keys = [published(key, key_id) for key_id, key in self.keys.items()]
        return json.dumps({"keys": [*keys, *self.others]}).encode()

    def token(
        self,
        said: dict[str, object] | None = None,
        *,
        key_id: str | None = None,
        key: PrivateKey | None = None,
    ) -> str:
        """A token that names `key_id` and is signed with `key`, by default its own newest."""
        newest = list(self.keys)[-1]
        named = newest if key_id is None else key_id
        key = key or self.keys.get(named) or self.keys[newest]
        return jwt.encode(
            claims() if said is None else said,
            key,
            "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256",
            headers={"kid": named} if named else None,
        )
