import asyncio
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol, TypeVar
from uuid import UUID

from assay_contracts.base import Model
from assay_contracts.rpc import Rpc

R = TypeVar("R", bound=Model)


class Ask(Protocol):
    async def __call__(self, question: Rpc[R], *, timeout_s: float) -> R:
        """Raises ProblemError: the answerer's refusal, or SERVICE_UNAVAILABLE if none answers."""
        ...


class Uploads(Protocol):
    """Where uploads wait for ingest."""

    async def put(self, upload_id: UUID, content: BinaryIO) -> None:
        """Raises ProblemError with SERVICE_UNAVAILABLE; nothing is then kept."""
        ...

    async def discard(self, upload_id: UUID) -> None:
        """Remove the upload, if it is there. Never raises: what stays behind expires by itself."""
        ...


class Reports(Protocol):
    async def fetch(self, key: str) -> bytes:
        """Raises ProblemError with SERVICE_UNAVAILABLE."""
        ...


class Progress(Protocol):
    def listen(self, skill_id: UUID) -> AbstractContextManager[asyncio.Event]:
        """An event that is set whenever progress of this skill is heard."""
        ...
