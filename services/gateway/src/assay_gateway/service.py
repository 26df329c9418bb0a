"""The use cases: each asks the services that know, and keeps nothing."""

from dataclasses import dataclass
from typing import BinaryIO
from uuid import uuid4

from assay_contracts.rpc import (
    SMALL_UPLOAD_BYTES,
    IngestSubmit,
    Rpc,
)
from assay_gateway.answers import UploadAnswer
from assay_gateway.ports import Ask, R, Uploads

READ_TIMEOUT_S = 5.0
SUBMIT_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Answer from the records."""

    ask: Ask

    async def __call__(self, question: Rpc[R]) -> R:
        return await self.ask(question, timeout_s=READ_TIMEOUT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A whole file that has arrived, at most `MAX_UPLOAD_BYTES` long."""

    filename: str
    content: BinaryIO
    size: int
    uploaded_by: str
    start_validation: bool = True
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitUpload:
    """Hand an upload to ingest; one that is not accepted leaves nothing behind.

    A small one goes along with the question, a larger one by way of the store of uploads.
    """

    ask: Ask
    uploads: Uploads

    async def __call__(self, upload: Upload) -> UploadAnswer:
        small = upload.size <= SMALL_UPLOAD_BYTES
        question = IngestSubmit(
            upload_id=uuid4(),
            filename=upload.filename,
            uploaded_by=upload.uploaded_by,
            start_validation=upload.start_validation,
            idempotency_key=upload.idempotency_key,
            content=upload.content.read() if small else None,
        )
        if small:
            return UploadAnswer.of(await self.ask(question, timeout_s=SUBMIT_TIMEOUT_S))
        await self.uploads.put(question.upload_id, upload.content)
        try:
            reply = await self.ask(question, timeout_s=SUBMIT_TIMEOUT_S)
        except BaseException:
            await self.uploads.discard(question.upload_id)
            raise
        return UploadAnswer.of(reply)
