"""The use cases: each asks the services that know, and keeps nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO
from uuid import uuid4

from assay_contracts.rpc import (
    SMALL_UPLOAD_BYTES,
    GetReport,
    GetStatus,
    IngestSubmit,
    Problem,
    ProblemError,
    Rpc,
    SkillStatusView,
)
from assay_gateway.answers import UploadAnswer
from assay_gateway.domain import ENDED
from assay_gateway.ports import Ask, Progress, R, Reports, Uploads

READ_TIMEOUT_S = 5.0
SUBMIT_TIMEOUT_S = 30.0
JSON = "application/json"
MARKDOWN = "text/markdown"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchReport:
    """The newest report of a skill, as it was stored."""

    ask: Ask
    reports: Reports

    async def __call__(self, question: GetReport, media_type: str) -> bytes:
        view = await self.ask(question, timeout_s=READ_TIMEOUT_S)
        ref = view.report
        return await self.reports.fetch(
            ref.markdown_key if media_type == MARKDOWN else ref.json_key
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowStatus:
    """The status of one skill, each time it changes, until its validation has ended."""

    ask: Ask
    progress: Progress
    poll_s: float = 2.0
    """Live progress may get lost; nobody waits longer than this for what it would have told."""
    gather_s: float = 0.1
    """Progress heard within this time is answered with one look at the records."""

    async def __call__(self, first: SkillStatusView) -> AsyncIterator[SkillStatusView | Problem]:
        """Yield `first` and every later status, and what keeps us from seeing one.

        After a problem with SERVICE_UNAVAILABLE it goes on; any other problem is the last word.
        """
        seen = first
        with self.progress.listen(first.skill_id) as news:
            # `first` is older than this subscription: what was said between the two is lost.
            news.set()
            yield first
            while seen.validation_stage not in ENDED:
                await self._news_or_poll(news)
                try:
                    now = await self.ask(
                        GetStatus(skill_id=first.skill_id), timeout_s=READ_TIMEOUT_S
                    )
                except ProblemError as error:
                    yield error.problem
                    if error.problem.code != "SERVICE_UNAVAILABLE":
                        return
                    continue
                if now != seen:
                    seen = now
                    yield seen

    async def _news_or_poll(self, news: asyncio.Event) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self.poll_s):
                await news.wait()
        await asyncio.sleep(self.gather_s)
        news.clear()
