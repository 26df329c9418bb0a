"""The use case: what is kept, what is refused, and what the uploader hears."""

import asyncio
import io
import stat
from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from assay_contracts.rpc import IngestSubmit, Problem, ProblemError, SubmitReply
from assay_ingest.domain.refusals import MAX_FINDINGS
from assay_ingest.ports import RecordsSilent
from assay_ingest.use_cases.submit_upload import SubmitUpload
from assay_skillkit.check import check_archive
from assay_skillkit.limits import MIB
from assay_testkit.archives import (
    SKILL_MD,
    Entry,
    FakeBundles,
    FakeRecords,
    FakeUploads,
    raw_zip,
    skill_zip,
)

TAKEN = Problem(code="SKILL_ALREADY_EXISTS", message="The name is in use.")
AWAY = Problem(code="SERVICE_UNAVAILABLE", message="The scorer service did not answer.")


@dataclass
class Bench:
    uploads: FakeUploads = field(default_factory=FakeUploads)
    bundles: FakeBundles = field(default_factory=FakeBundles)
    records: FakeRecords = field(default_factory=FakeRecords)
    strict: bool = False

    def submission(self) -> SubmitUpload:
        return SubmitUpload(
            uploads=self.uploads,
            bundles=self.bundles,
            records=self.records,
            slots=asyncio.Semaphore(2),
            strict=self.strict,
        )

    async def submit(self, data: bytes) -> SubmitReply:
        upload_id = self.uploads.add(data)
        return await self.submission()(
            IngestSubmit(upload_id=upload_id, filename="demo.zip", uploaded_by="admin")
        )

    async def refusal(self, data: bytes) -> Problem:
        with pytest.raises(ProblemError) as caught:
            await self.submit(data)
        return caught.value.problem


async def test_a_good_upload_is_kept_and_registered() -> None:
    bench = Bench()

    reply = await bench.submit(skill_zip(Entry(name="demo/.env", data=b"x")))

    (registered,) = bench.records.registered
    ((key, bundle),) = bench.bundles.held.items()
    assert registered.bundle.key == key == f"{registered.bundle.sha256}-{registered.upload_id}"
    assert registered.bundle.size == len(bundle)
    assert check_archive(io.BytesIO(bundle)).manifest == registered.manifest
    assert reply.name == registered.manifest.name == "demo"
    assert [finding.code for finding in reply.findings] == ["secret-file"]
    assert registered.findings == reply.findings
    assert bench.uploads.held == {}


@pytest.mark.parametrize(
    ("data", "code", "first"),
    [
        (b"hello", "INVALID_ZIP", "not-a-zip"),
        (skill_zip(Entry(name="../x", data=b"x")), "INVALID_ZIP", "path-traversal"),
        (raw_zip(Entry(name="README.md", data=b"x")), "INVALID_SKILL_FORMAT", "skill-md-missing"),
        (
            skill_zip(skill_md=b"---\nname: demo\n---\n"),
            "INVALID_SKILL_FORMAT",
            "description-missing",
        ),
        (bytes(50 * MIB + 1), "FILE_TOO_LARGE", "archive-too-large"),
    ],
)
async def test_a_bad_upload_is_refused_and_nothing_is_kept(
    data: bytes, code: str, first: str
) -> None:
    bench = Bench()

    problem = await bench.refusal(data)

    assert problem.code == code
    assert problem.details.findings[0].code == first
    assert problem.details.findings[0].message in problem.message
    assert (bench.uploads.held, bench.bundles.held, bench.records.registered) == ({}, {}, [])


async def test_a_refusal_counts_its_reasons_and_lists_no_more_than_fit() -> None:
    links = (
        Entry(name=f"demo/{n}", data=b"x", mode=stat.S_IFLNK | 0o777)
        for n in range(MAX_FINDINGS + 50)
    )

    problem = await Bench().refusal(skill_zip(*links))

    assert len(problem.details.findings) == MAX_FINDINGS
    assert "149 more" in problem.message


async def test_strict_refuses_what_is_only_questionable() -> None:
    problem = await Bench(strict=True).refusal(skill_zip(Entry(name="demo/.env", data=b"x")))

    assert problem.code == "INVALID_SKILL_FORMAT"
    assert [finding.code for finding in problem.details.findings] == ["secret-file"]


async def test_a_name_in_use_leaves_no_bundle_behind() -> None:
    bench = Bench(records=FakeRecords(refusal=ProblemError(TAKEN)))

    assert await bench.refusal(skill_zip()) == TAKEN
    assert (bench.uploads.held, bench.bundles.held) == ({}, {})


async def test_a_bundle_that_may_have_been_recorded_is_kept() -> None:
    bench = Bench(records=FakeRecords(refusal=RecordsSilent(AWAY)))

    assert await bench.refusal(skill_zip()) == AWAY
    assert len(bench.bundles.held) == 1
    assert bench.uploads.held == {}


async def test_storage_that_fails_is_our_failure_not_the_uploads() -> None:
    assert (
        await Bench(uploads=FakeUploads(broken=True)).refusal(skill_zip())
    ).code == "SERVICE_UNAVAILABLE"
    bench = Bench(bundles=FakeBundles(broken=True))
    assert (await bench.refusal(skill_zip())).code == "SERVICE_UNAVAILABLE"
    assert bench.records.registered == []


async def test_an_upload_that_comes_along_is_not_looked_for() -> None:
    bench = Bench(uploads=FakeUploads(broken=True))

    reply = await bench.submission()(
        IngestSubmit(
            upload_id=uuid4(), filename="demo.zip", uploaded_by="admin", content=skill_zip()
        )
    )

    assert reply.name == "demo"
    assert len(bench.bundles.held) == 1


@pytest.mark.parametrize("start", [True, False])
async def test_whether_to_validate_it_is_passed_on(start: bool) -> None:
    bench = Bench()

    reply = await bench.submission()(
        IngestSubmit(
            upload_id=uuid4(),
            filename="demo.zip",
            uploaded_by="admin",
            content=skill_zip(),
            start_validation=start,
        )
    )

    assert [record.start_validation for record in bench.records.registered] == [start]
    assert (reply.validation_id is not None) == start


async def test_what_was_recorded_before_is_told() -> None:
    bench = Bench(records=FakeRecords(revision=3, same_as=2))

    reply = await bench.submit(skill_zip())

    assert (reply.revision, reply.same_as_revision) == (3, 2)


async def test_an_upload_that_has_expired_is_asked_for_again() -> None:
    submit = SubmitUpload(
        uploads=FakeUploads(),
        bundles=FakeBundles(),
        records=FakeRecords(),
        slots=asyncio.Semaphore(1),
    )

    with pytest.raises(ProblemError) as caught:
        await submit(IngestSubmit(upload_id=uuid4(), filename="x.zip", uploaded_by="admin"))

    assert caught.value.problem.code == "INVALID_REQUEST"


async def test_the_same_content_is_stored_under_its_own_key_each_time() -> None:
    bench = Bench()

    await bench.submit(skill_zip())
    await bench.submit(raw_zip(Entry(name="SKILL.md", data=SKILL_MD, method=0)))

    first, second = bench.records.registered
    assert first.bundle.sha256 == second.bundle.sha256
    assert first.bundle.key != second.bundle.key
