from dataclasses import dataclass
from datetime import datetime

from assay_contracts.rpc import ProblemError, RegisterReply, RegisterSkill
from assay_scorer.domain.revisions import new_validation
from assay_scorer.domain.uploads import (
    OTHER_UPLOAD,
    first_revision,
    next_revision,
    upload_refusal,
)
from assay_scorer.domain.validation import Validation
from assay_scorer.ports.skills import UploadIdTaken, UploadRecords
from assay_scorer.ports.timing import Clock, Wake
from assay_scorer.use_cases.problems import raise_if
from assay_servicekit.telemetry import current_traceparent


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterUpload:
    """Records a checked upload and queues its validation, if one is to start.

    Starting it is left to the admission worker: whether there is room is found out one at a time,
    and uploads need not wait in that line.
    """

    uploads: UploadRecords
    clock: Clock
    wake_admission: Wake

    async def __call__(self, upload: RegisterSkill) -> RegisterReply:
        """Raises ProblemError when it may not be uploaded, Unavailable when the database is down.

        An upload that is there already is not recorded again.
        """
        try:
            reply = await self._record(upload, self.clock())
        except UploadIdTaken as error:
            # Sent at once with one key, as two skills.
            raise ProblemError(OTHER_UPLOAD) from error
        # The outbox is not woken: `skill.uploaded` goes out within a second, and nobody waits for
        # it, while somebody waits for this answer.
        if reply.validation_id is not None:
            self.wake_admission()
        return reply

    async def _record(self, upload: RegisterSkill, now: datetime) -> RegisterReply:
        trace = current_traceparent()
        while True:
            first = new_validation(first_revision(upload), "initial", now, trace)
            if await self.uploads.add_skill(upload, first):
                return _reply(upload, first)
            # There is a skill of this name: had it been about to appear, this would have waited.
            reply = await self._record_next(upload, now, trace)
            if reply is not None:
                return reply
            # Deleted a moment ago: the name is free.

    async def _record_next(
        self, upload: RegisterSkill, now: datetime, trace: str | None
    ) -> RegisterReply | None:
        """None if the skill of that name is gone."""
        async with self.uploads.transaction() as transaction:
            known = await transaction.lock_skill_named(upload.manifest.name, upload.bundle.sha256)
            if known is None:
                return None
            earlier = await transaction.earlier_reply(upload.upload_id)
            if earlier is not None:
                return earlier
            raise_if(upload_refusal(known))
            validation = new_validation(next_revision(upload, known), "initial", now, trace)
            await transaction.add_revision(upload, validation)
        return _reply(upload, validation, known.same_as_revision)


def _reply(
    upload: RegisterSkill, validation: Validation, same_as: int | None = None
) -> RegisterReply:
    return RegisterReply(
        skill_id=validation.skill_id,
        revision=validation.revision,
        status=validation.skill_status,
        validation_id=validation.validation_id if upload.start_validation else None,
        same_as_revision=same_as,
    )
