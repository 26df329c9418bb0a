"""Hand uploads to ingest."""

from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from assay_contracts.rpc import SMALL_UPLOAD_BYTES, IngestSubmit, SubmitReply
from assay_gateway.domain.uploads import Upload
from assay_gateway.ports import Ask, Uploads

SUBMIT_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitUpload:
    """Hand an upload to ingest; one that is not accepted leaves nothing behind.

    A small one goes along with the question, a larger one by way of the store of uploads.
    """

    ask: Ask
    uploads: Uploads

    async def __call__(self, upload: Upload) -> SubmitReply:
        """Raises ProblemError: ingest's refusal, or SERVICE_UNAVAILABLE."""
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
            return await self.ask(question, timeout_s=SUBMIT_TIMEOUT_S)
        await self.uploads.put(question.upload_id, upload.content)
        try:
            return await self.ask(question, timeout_s=SUBMIT_TIMEOUT_S)
        except BaseException:
            await self.uploads.discard(question.upload_id)
            raise
