"""Signed verdicts: what they say, who can verify them, and what a change does to them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)
from google.protobuf.json_format import Parse
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from assay_scorer.adapters.signing import DsseSigner, SigningKeyUnusable
from assay_scorer.domain.attestation import statement_of
from assay_skillkit.attestation import NotVerified, verify_attestation
from assay_testkit.reports import mixed_report

REPORT = mixed_report(verdict="passed")


def written(folder: Path, key: Any) -> Path:
    file = folder / "key.pem"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return file


def public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


@pytest.fixture
def envelope(key: Ed25519PrivateKey, tmp_path: Path) -> bytes:
    return DsseSigner(written(tmp_path, key)).sign(statement_of(REPORT))


def test_a_signed_verdict_says_what_it_rests_on(key: Ed25519PrivateKey, envelope: bytes) -> None:
    statement = verify_attestation(
        envelope, public_key=public(key), bundle_sha256=REPORT.bundle_sha256
    )

    said = statement.predicate
    assert (said.verdict, said.scores, said.rubric_version) == (
        "passed",
        REPORT.scores,
        REPORT.rubric_version,
    )
    assert {(use.role, use.model) for use in said.models} == {
        (use.role, use.model) for use in REPORT.models
    }
    assert said.environment.runtime_version == REPORT.runtime_version


def test_tools_of_others_verify_it(key: Ed25519PrivateKey, envelope: bytes) -> None:
    signed = Envelope.from_dict(json.loads(envelope))
    signed.verify([SSlibKey.from_crypto(load_pem_public_key(public(key)))], 1)
    assert signed.payload_type == "application/vnd.in-toto+json"
    parsed = Statement.copy_from_pb(Parse(signed.payload, statement_pb2.Statement()))
    parsed.validate()
    assert parsed.pb.subject[0].digest["sha256"] == REPORT.bundle_sha256


@pytest.mark.parametrize("part", ["payload", "sig", "payloadType"])
def test_one_changed_byte_is_noticed(part: str, key: Ed25519PrivateKey, envelope: bytes) -> None:
    content = json.loads(envelope)
    holder = content["signatures"][0] if part == "sig" else content
    if part == "payloadType":
        holder[part] = holder[part].replace("in-toto", "in-tota")
    else:
        changed = bytearray(base64.b64decode(holder[part]))
        changed[len(changed) // 2] ^= 1
        holder[part] = base64.b64encode(changed).decode()

    with pytest.raises(NotVerified, match="changed after it was signed"):
        verify_attestation(
            json.dumps(content).encode(),
            public_key=public(key),
            bundle_sha256=REPORT.bundle_sha256,
        )


def test_it_is_about_one_bundle_and_by_one_key(key: Ed25519PrivateKey, envelope: bytes) -> None:
    with pytest.raises(NotVerified, match="at hand"):
        verify_attestation(envelope, public_key=public(key), bundle_sha256="0" * 64)
    with pytest.raises(NotVerified, match="not by this key"):
        verify_attestation(
            envelope,
            public_key=public(Ed25519PrivateKey.generate()),
            bundle_sha256=REPORT.bundle_sha256,
        )


@pytest.mark.parametrize(
    "envelope",
    [b"", b"[]", b"{}", b'{"payload": 1, "signatures": [3]}', b"[" * 9],
)
def test_what_is_no_attestation(envelope: bytes, key: Ed25519PrivateKey) -> None:
    with pytest.raises(NotVerified, match="no signed attestation"):
        verify_attestation(envelope, public_key=public(key), bundle_sha256="0" * 64)


def test_a_key_that_cannot_be_used_says_what_to_do(tmp_path: Path) -> None:
    for file in (tmp_path / "none.pem", written(tmp_path, generate_private_key(SECP256R1()))):
        with pytest.raises(SigningKeyUnusable, match="openssl genpkey"):
            DsseSigner(file)
