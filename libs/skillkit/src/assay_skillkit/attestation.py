"""Verdicts that Assay signed: whether one is genuine, and about which bundle."""

import json
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pydantic import ValidationError
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import FormatError, VerificationError
from securesystemslib.signer import SSlibKey

from assay_contracts.attestations import PAYLOAD_TYPE, VerdictStatement

MAX_BYTES: Final = 8 * 1024 * 1024


class NotVerified(ValueError):
    """What was given proves nothing; the message says why."""


def verify_attestation(
    envelope: bytes, *, public_key: bytes, bundle_sha256: str
) -> VerdictStatement:
    """What was said of the bundle, if the holder of the key said it.

    Args:
        envelope: The DSSE envelope, as JSON.
        public_key: Of the deployment whose word counts: Ed25519, in PEM.
        bundle_sha256: Of the canonical bundle at hand.

    Raises:
        NotVerified: It is no such envelope, nobody with that key signed it, or it is about other
            bytes.
    """
    key = _key(public_key)
    if len(envelope) > MAX_BYTES:
        raise NotVerified(f"An attestation has at most {MAX_BYTES:,} bytes.")
    try:
        content = json.loads(envelope)
        # What a key is called is not signed: ours alone is tried, whatever it is called.
        for signature in content["signatures"]:
            signature["keyid"] = key.keyid
        signed = Envelope.from_dict(content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, FormatError) as error:
        raise NotVerified("This is no signed attestation (a DSSE envelope in JSON).") from error
    try:
        signed.verify([key], 1)
    except VerificationError as error:
        raise NotVerified(
            "The signature is not by this key, or something was changed after it was signed."
        ) from error
    return _about(signed, bundle_sha256)


def _key(public_key: bytes) -> SSlibKey:
    try:
        key = load_pem_public_key(public_key)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise NotVerified("This is no public key in PEM.") from error
    if not isinstance(key, Ed25519PublicKey):
        raise NotVerified("The public key is not Ed25519, as those of Assay are.")
    return SSlibKey.from_crypto(key)


def _about(signed: Envelope, bundle_sha256: str) -> VerdictStatement:
    if signed.payload_type != PAYLOAD_TYPE:
        raise NotVerified("What was signed is no in-toto statement.")
    try:
        statement = VerdictStatement.model_validate_json(signed.payload)
    except ValidationError as error:
        raise NotVerified("What was signed is no verdict of Assay.") from error
    attested = statement.bundle.digest.sha256
    if attested != bundle_sha256:
        raise NotVerified(
            f"The verdict is about a bundle with sha256 {attested}; the one at hand has "
            f"{bundle_sha256}."
        )
    return statement
