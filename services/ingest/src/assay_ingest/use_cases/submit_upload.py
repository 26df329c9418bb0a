"""The use case of ingest: an upload in, a registered skill or every reason against it out."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Final, cast
from uuid import UUID, uuid5

import structlog

from assay_contracts.rpc import (
    IngestSubmit,
    Problem,
    ProblemError,
    RegisterReply,
    RegisterSkill,
    SubmitReply,
)
from assay_contracts.skills import BundleRef, Finding, SkillManifest
from assay_ingest.domain.refusals import listed_findings, refusal_of
from assay_ingest.ports import (
    Bundles,
    Records,
    RecordsSilent,
    StorageUnavailable,
    UploadMissing,
    Uploads,
)
from assay_skillkit.bundle import WrittenBundle, write_bundle
from assay_skillkit.check import CheckedSkill, check_archive

MOST_IN_MEMORY: Final = 1024 * 1024
UPLOADS: Final = UUID("5d6f4f0e-6d0c-4b0e-8a5e-0f3c7c1f4b9a")
"""The namespace of ids of uploads that have a key."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitUpload:
    """Check an upload; store its bundle and register it, or refuse it and keep nothing.

    Raises:
        ProblemError: The upload was refused, or the platform could not take it for now.
    """

    uploads: Uploads
    bundles: Bundles
    records: Records
    slots: asyncio.Semaphore
    """How many uploads are unpacked, checked and stored at once."""
    strict: bool = False

    async def __call__(self, request: IngestSubmit) -> SubmitReply:
        try:
            return await self._submit(request)
        except UploadMissing as error:
            raise ProblemError(
                Problem(
                    code="INVALID_REQUEST",
                    message="The upload is no longer there. Send the file again.",
                )
            ) from error
        except StorageUnavailable as error:
            raise ProblemError(
                Problem(
                    code="SERVICE_UNAVAILABLE",
                    message=f"The upload could not be stored: {error}. Try again in a few seconds.",
                )
            ) from error
        finally:
            if request.content is None:
                await self._discard_upload(request.upload_id)

    async def _submit(self, request: IngestSubmit) -> SubmitReply:
        async with self.slots:
            bundle, manifest, findings = await self._store_bundle(request)
        registered = await self._register(request, bundle, manifest, findings)
        return SubmitReply(
            skill_id=registered.skill_id,
            name=manifest.name,
            status=registered.status,
            validation_id=registered.validation_id,
            findings=findings,
            revision=registered.revision,
            same_as_revision=registered.same_as_revision,
        )

    async def _store_bundle(
        self, request: IngestSubmit
    ) -> tuple[BundleRef, SkillManifest, tuple[Finding, ...]]:
        with _scratch_file() as upload, _scratch_file() as bundle:
            if request.content is None:
                await self.uploads.fetch(request.upload_id, upload)
            else:
                upload.write(request.content)
            checked, written = await asyncio.to_thread(
                _check_and_pack, upload, bundle, request.filename, self.strict
            )
            if checked.manifest is None or written is None:
                raise ProblemError(refusal_of(checked))
            key = f"{written.sha256}-{request.upload_id}"
            await self.bundles.keep(key, bundle)
        reference = BundleRef(key=key, sha256=written.sha256, size=written.size)
        return reference, checked.manifest, listed_findings(checked)

    async def _register(
        self,
        request: IngestSubmit,
        bundle: BundleRef,
        manifest: SkillManifest,
        findings: tuple[Finding, ...],
    ) -> RegisterReply:
        try:
            return await self.records.register(
                RegisterSkill(
                    upload_id=_upload_id(request),
                    idempotency_key=request.idempotency_key,
                    uploaded_by=request.uploaded_by,
                    bundle=bundle,
                    manifest=manifest,
                    findings=findings,
                    start_validation=request.start_validation,
                )
            )
        except ProblemError:
            # The refusal is what the uploader has to hear, even where tidying up fails.
            with suppress(StorageUnavailable):
                await self.bundles.discard(bundle.key)
            raise
        except RecordsSilent as silent:
            # A bundle that was recorded after all must not be taken from under its record.
            log.warning("bundle_may_be_unrecorded", key=bundle.key, reason=str(silent))
            raise ProblemError(silent.problem) from silent

    async def _discard_upload(self, upload_id: UUID) -> None:
        try:
            await self.uploads.discard(upload_id)
        except StorageUnavailable as error:
            log.warning("upload_left_to_expire", upload_id=str(upload_id), reason=str(error))


def _upload_id(request: IngestSubmit) -> UUID:
    """The same each time one upload is sent with a key; what it is stored under is not."""
    return uuid5(UPLOADS, request.idempotency_key) if request.idempotency_key else request.upload_id


def _scratch_file() -> BinaryIO:
    return cast("BinaryIO", SpooledTemporaryFile(max_size=MOST_IN_MEMORY))


def _check_and_pack(
    upload: BinaryIO, bundle: BinaryIO, filename: str, strict: bool
) -> tuple[CheckedSkill, WrittenBundle | None]:
    checked = check_archive(upload, filename=filename, strict=strict)
    if checked.manifest is None or checked.files is None:
        return checked, None
    return checked, write_bundle(checked.files, checked.manifest.name, bundle)
