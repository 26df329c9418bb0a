import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import BinaryIO, Protocol, TypeVar
from uuid import UUID

from assay_contracts.base import Model
from assay_contracts.rpc import Rpc
from assay_contracts.topology import BucketName
from assay_gateway.domain.callers import Caller
from assay_gateway.domain.public_event import PublicEvent

R = TypeVar("R", bound=Model)


class Ask(Protocol):
    async def __call__(self, question: Rpc[R], *, timeout_s: float) -> R:
        """Raises ProblemError: the answerer's refusal, or SERVICE_UNAVAILABLE if none answers."""
        ...


class AskJson(Protocol):
    async def __call__(self, question: Rpc[Model], *, timeout_s: float) -> bytes:
        """As `Ask`; the answer is JSON, to be passed on as it is."""
        ...


class TokenKind(Protocol):
    """One kind of token that is taken."""

    async def holder(self, token: bytes) -> Caller | None:
        """Whoever proves who they are with this token; None if it proves nothing.

        Raises ProblemError with SERVICE_UNAVAILABLE if that cannot be found out for now.
        """
        ...


class Uploads(Protocol):
    """Where uploads wait for ingest."""

    async def put(self, upload_id: UUID, content: BinaryIO) -> None:
        """Raises ProblemError with SERVICE_UNAVAILABLE; nothing is then kept."""
        ...

    async def discard(self, upload_id: UUID) -> None:
        """Remove the upload, if it is there. Never raises: what stays behind expires by itself."""
        ...


class ObjectStore(Protocol):
    """What lies on the bus beside the records: bundles, traces, reports."""

    async def fetch(self, bucket: BucketName, key: str) -> BinaryIO:
        """The whole object, from its start, on disk when it is large; to be closed by the caller.

        Raises ProblemError with SERVICE_UNAVAILABLE, or NOT_FOUND for what is not there any more.
        """
        ...


class PublicEvents(Protocol):
    """What other systems may know, in the order in which it was said."""

    def listen(self) -> AbstractAsyncContextManager[Callable[[], AsyncIterator[PublicEvent]]]:
        """What is said from now on; waits for the bus. It ends for a listener that is too slow."""
        ...

    def since(self, sequence: int) -> AsyncIterator[PublicEvent]:
        """What was said after this one and is kept. Raises ProblemError SERVICE_UNAVAILABLE."""
        ...


class Progress(Protocol):
    def listen(self, skills: frozenset[UUID]) -> AbstractContextManager[asyncio.Event]:
        """An event that is set whenever progress of one of these skills is heard."""
        ...
