"""Signing verdicts with the deployment's key, in DSSE envelopes."""

import json
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner

from assay_contracts.attestations import PAYLOAD_TYPE, VerdictStatement

_HOW: Final = "Make one with `openssl genpkey -algorithm ed25519 -out FILE`."


class SigningKeyUnusable(RuntimeError):
    """The key of the settings cannot be used; the message says why and what to do."""


class DsseSigner:
    """Implements `ports.Signer` with an Ed25519 key in PEM."""

    def __init__(self, key_file: Path) -> None:
        """Raises SigningKeyUnusable."""
        try:
            key = load_pem_private_key(key_file.read_bytes(), password=None)
        except (OSError, TypeError, ValueError) as error:
            raise SigningKeyUnusable(
                f"ASSAY_SIGNING_KEY_FILE={key_file} holds no private key: {error}. {_HOW}"
            ) from error
        if not isinstance(key, Ed25519PrivateKey):
            raise SigningKeyUnusable(
                f"ASSAY_SIGNING_KEY_FILE={key_file} holds a key that is not Ed25519. {_HOW}"
            )
        self._signer = CryptoSigner(key)

    def sign(self, statement: VerdictStatement) -> bytes:
        envelope = Envelope(
            statement.model_dump_json(by_alias=True).encode(), PAYLOAD_TYPE, signatures={}
        )
        envelope.sign(self._signer)
        return json.dumps(envelope.to_dict(), indent=1).encode()
