"""Every way we know in which a request is not an admin's."""

import hmac
import json
import time
from collections.abc import Callable, Mapping
from functools import cache

import jwt
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.utils import base64url_encode

from assay_gateway.adapters.tokens import LEEWAY_S
from assay_testkit.gateway.entrance import Headers, bearer, header
from assay_testkit.gateway.running import ADMIN_TOKEN
from assay_testkit.gateway.tokens import (
    HOUR_S,
    ISSUER,
    SECRET,
    Issuer,
    claims,
    new_key,
    published,
    secret_token,
)

WRONG_HEADERS: dict[str, Headers] = {
    "no header": [],
    "empty header": header(""),
    "scheme alone": header("Bearer"),
    "scheme and a space": header("Bearer "),
    "another token": header("Bearer wrong"),
    "longer": header(f"Bearer {ADMIN_TOKEN}x"),
    "shorter": header(f"Bearer {ADMIN_TOKEN[:-1]}"),
    "in capitals": header(f"Bearer {ADMIN_TOKEN.upper()}"),
    "another scheme": header(f"Basic {ADMIN_TOKEN}"),
    "no scheme": header(ADMIN_TOKEN),
    "not ASCII": header("Bearer ÿþ"),
    "two headers": [*bearer(ADMIN_TOKEN), *bearer(ADMIN_TOKEN)],
    "two in one header": header(f"Bearer {ADMIN_TOKEN}, Bearer {ADMIN_TOKEN}"),
    "dots": header("Bearer ..."),
    "two parts": header("Bearer e30.e30"),
    "no JSON": bearer(b".".join([base64url_encode(b"no"), base64url_encode(b"{}"), b"eA"])),
    "no object": bearer(b".".join([base64url_encode(b"[]"), base64url_encode(b"{}"), b"eA"])),
    "nested": bearer(b".".join([base64url_encode(b"[" * 20_000), base64url_encode(b"{}"), b"eA"])),
}


def wrong_claims() -> dict[str, dict[str, object]]:
    now = int(time.time())
    return {
        "expired": claims(exp=now - LEEWAY_S - 1),
        "expired long ago": claims(exp=1),
        "never expires": claims(exp=None),
        "expires at no time": claims(exp="tomorrow"),
        "not yet valid": claims(nbf=now + HOUR_S),
        "issued later": claims(iat=now + HOUR_S),
        "another audience": claims(aud="another"),
        "no audience": claims(aud=None),
        "other audiences": claims(aud=["another", "third"]),
        "another issuer": claims(iss="https://another.example"),
        "issuer and more": claims(iss=f"{ISSUER}.evil.example"),
        "no issuer": claims(iss=None),
        "nobody": claims(sub=None),
        "empty name": claims(sub=""),
        "name of two lines": claims(sub="ada\nroot"),
        "endless name": claims(sub="a" * 201),
        "name that is no text": claims(sub=7),
    }


NOT_ADMINS = {
    "no role": claims(roles=None),
    "another role": claims(roles=["reader"]),
    "part of the role": claims(roles=["administrator", "adm"]),
    "role in another claim": claims(roles=None, role="admin"),
    "role of another shape": claims(roles={"admin": True}),
}


def made_up(
    head: Mapping[str, object], said: Mapping[str, object], sign: Callable[[bytes], bytes]
) -> str:
    """A token that no library would make."""
    signed = b".".join(base64url_encode(json.dumps(part).encode()) for part in (head, said))
    return (signed + b"." + base64url_encode(sign(signed))).decode()


def unsigned(_: bytes) -> bytes:
    return b""


def by_hmac(key: bytes) -> Callable[[bytes], bytes]:
    return lambda signed: hmac.digest(key, signed, "sha256")


@cache
def wrong_for_secret() -> dict[str, Headers]:
    head, said, signature = secret_token().split(".")
    other = base64url_encode(json.dumps(claims(sub="eve")).encode()).decode()
    forged = {
        "another secret": secret_token(secret="another secret, of as many bytes as ours"),
        "alg none": made_up({"alg": "none", "typ": "JWT"}, claims(), unsigned),
        "alg None": made_up({"alg": "None"}, claims(), unsigned),
        "alg none, signed": made_up({"alg": "none"}, claims(), by_hmac(SECRET.encode())),
        "no alg": made_up({"typ": "JWT"}, claims(), by_hmac(SECRET.encode())),
        "alg of a strange type": made_up({"alg": ["HS256"]}, claims(), by_hmac(SECRET.encode())),
        "another alg, right secret": jwt.encode(claims(), SECRET * 2, "HS512"),
        "asymmetric": jwt.encode(claims(), new_key(), "ES256"),
        "signature cut off": f"{head}.{said}.",
        "signature shortened": f"{head}.{said}.{signature[:-4]}",
        "other claims": f"{head}.{other}.{signature}",
        "unknown demands": made_up(
            {"alg": "HS256", "crit": ["x"], "x": 1}, claims(), by_hmac(SECRET.encode())
        ),
    }
    tokens = forged | {name: secret_token(said) for name, said in wrong_claims().items()}
    return WRONG_HEADERS | {name: bearer(token) for name, token in tokens.items()}


@cache
def wrong_for_keys(issuer: Issuer) -> dict[str, Headers]:
    public = issuer.keys["first"].public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    hs256 = {"alg": "HS256", "kid": "first"}
    mine = new_key()
    es256 = jwt.get_algorithm_by_name("ES256")

    def by_me(signed: bytes) -> bytes:
        return es256.sign(signed, mine)

    forged = {
        "HS256 with the public key": made_up(hs256, claims(), by_hmac(pem)),
        "HS256 with the published key": made_up(
            hs256, claims(), by_hmac(json.dumps(published(issuer.keys["first"], "first")).encode())
        ),
        "HS256 with nothing": made_up(hs256, claims(), by_hmac(b"")),
        "alg none": made_up({"alg": "none", "kid": "first"}, claims(), unsigned),
        "alg of another kind of key": made_up({"alg": "RS256", "kid": "first"}, claims(), by_me),
        "signed by another": issuer.token(key=mine),
        "signed by another key of theirs": issuer.token(key_id="first", key=issuer.keys["second"]),
        "unknown key": issuer.token(key_id="unknown", key=mine),
        "no key named": issuer.token(key_id="", key=issuer.keys["first"]),
        "key named by no text": made_up({"alg": "ES256", "kid": 1}, claims(), by_me),
        "brings its own key": made_up(
            {"alg": "ES256", "kid": "mine", "jwk": published(mine, "mine")}, claims(), by_me
        ),
        "says where its key is": made_up(
            {"alg": "ES256", "kid": "mine", "jku": "http://127.0.0.1:1/"}, claims(), by_me
        ),
    }
    tokens = forged | {name: issuer.token(said) for name, said in wrong_claims().items()}
    return WRONG_HEADERS | {name: bearer(token) for name, token in tokens.items()}
