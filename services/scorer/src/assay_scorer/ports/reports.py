from typing import Protocol

from assay_contracts.attestations import VerdictStatement


class Reports(Protocol):
    async def keep(self, key: str, content: bytes) -> None:
        """Store one form of a report under `key`."""
        ...


class Signer(Protocol):
    def sign(self, statement: VerdictStatement) -> bytes:
        """The statement in a DSSE envelope, signed with the deployment's key."""
        ...
