"""What ingest needs from the outside."""

from typing import BinaryIO, Protocol
from uuid import UUID

from assay_contracts.rpc import Problem, RegisterReply, RegisterSkill


class UploadMissing(LookupError):
    """The upload has expired or was never there."""


class StorageUnavailable(Exception):
    """Uploads or bundles cannot be read or written for now."""


class RecordsSilent(Exception):
    """No answer came, so the skill may have been recorded or not."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Uploads(Protocol):
    """What clients sent, kept until it has been looked at."""

    async def fetch(self, upload_id: UUID, target: BinaryIO) -> None:
        """Write the upload into `target`. Raises UploadMissing, StorageUnavailable."""
        ...

    async def discard(self, upload_id: UUID) -> None:
        """Delete the upload if it is there. Raises StorageUnavailable."""
        ...


class Bundles(Protocol):
    """Checked skills, kept for good."""

    async def keep(self, key: str, bundle: BinaryIO) -> None:
        """Store a bundle. Raises StorageUnavailable."""
        ...

    async def discard(self, key: str) -> None:
        """Delete a bundle if it is there. Raises StorageUnavailable."""
        ...


class Records(Protocol):
    async def register(self, skill: RegisterSkill) -> RegisterReply:
        """Record a checked skill.

        Raises:
            ProblemError: It was refused, or surely never arrived.
            RecordsSilent: It may have been recorded or not.
        """
        ...
