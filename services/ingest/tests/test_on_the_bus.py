"""Ingest on a real bus: uploads and bundles in the object store, the scorer asked over it."""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from assay_contracts.rpc import (
    IngestSubmit,
    Problem,
    ProblemError,
    RegisterReply,
    RegisterSkill,
    SubmitReply,
)
from assay_contracts.topology import ServiceName
from assay_ingest.app import create_app
from assay_ingest.settings import Settings
from assay_servicekit.bus import Bus
from assay_servicekit.objects import ObjectMissing
from assay_servicekit.settings import ServiceSettings
from assay_testkit.archives import Entry, skill_zip
from assay_testkit.servers import RunningNats

TAKEN = Problem(code="SKILL_ALREADY_EXISTS", message="The name is in use.")


@dataclass
class Scorer:
    """Answers as the system of record would."""

    registered: list[RegisterSkill] = field(default_factory=list)
    refusal: Problem | None = None

    async def register(self, skill: RegisterSkill) -> RegisterReply:
        self.registered.append(skill)
        if self.refusal is not None:
            raise ProblemError(self.refusal)
        return RegisterReply(skill_id=uuid4(), revision=1, status="pending", validation_id=uuid4())


@asynccontextmanager
async def on_bus(bus: Bus) -> AsyncIterator[Bus]:
    await bus.connect()
    await bus.start()
    try:
        yield bus
    finally:
        await bus.stop()


def a_bus(server: RunningNats, service: ServiceName) -> Bus:
    return Bus(ServiceSettings(nats_url=SecretStr(server.url(service))), service)


@pytest.fixture
async def gateway(nats_server: RunningNats) -> AsyncIterator[Bus]:
    """A client with an ingest to ask; whether a scorer is there is up to the test."""
    ingest = create_app(Settings(nats_url=SecretStr(nats_server.url("ingest"))))
    async with on_bus(ingest.bus), on_bus(a_bus(nats_server, "gateway")) as gateway:
        yield gateway


@asynccontextmanager
async def scorer_running(server: RunningNats, scorer: Scorer) -> AsyncIterator[Bus]:
    bus = a_bus(server, "scorer")
    bus.on_question(RegisterSkill, scorer.register)
    async with on_bus(bus):
        yield bus


async def submitted(gateway: Bus, data: bytes) -> tuple[UUID, SubmitReply]:
    upload_id = uuid4()
    await gateway.objects.put("uploads", str(upload_id), data)
    question = IngestSubmit(upload_id=upload_id, filename="demo.zip", uploaded_by="admin")
    return upload_id, await gateway.ask(question)


async def test_an_upload_ends_as_a_registered_bundle(
    nats_server: RunningNats, gateway: Bus
) -> None:
    scorer = Scorer()
    async with scorer_running(nats_server, scorer) as records:
        upload_id, reply = await submitted(gateway, skill_zip())

        (registered,) = scorer.registered
        assert (reply.name, registered.upload_id) == ("demo", upload_id)
        bundle = await records.objects.get("bundles", registered.bundle.key)
        assert len(bundle) == registered.bundle.size


@pytest.mark.parametrize("size", [0, 300_000, 2_000_000], ids=["tiny", "small", "in chunks"])
async def test_a_bundle_reads_back_as_it_was_written(
    nats_server: RunningNats, gateway: Bus, size: int
) -> None:
    scorer = Scorer()
    filler = Entry(name="demo/data.bin", data=os.urandom(size), method=0)
    async with scorer_running(nats_server, scorer) as records:
        await submitted(gateway, skill_zip(filler))

        bundle = scorer.registered[0].bundle
        content = await records.objects.get("bundles", bundle.key)
        assert hashlib.sha256(content).hexdigest() == bundle.sha256


async def test_a_small_upload_needs_no_object_store(nats_server: RunningNats, gateway: Bus) -> None:
    scorer = Scorer()
    async with scorer_running(nats_server, scorer):
        question = IngestSubmit(
            upload_id=uuid4(), filename="demo.zip", uploaded_by="admin", content=skill_zip()
        )

        assert (await gateway.ask(question)).name == "demo"


async def test_a_refused_skill_leaves_no_bundle(nats_server: RunningNats, gateway: Bus) -> None:
    scorer = Scorer(refusal=TAKEN)
    async with scorer_running(nats_server, scorer) as records:
        with pytest.raises(ProblemError) as caught:
            await submitted(gateway, skill_zip())

        assert caught.value.problem == TAKEN
        with pytest.raises(ObjectMissing):
            await records.objects.get("bundles", scorer.registered[0].bundle.key)


async def test_a_bad_zip_is_refused_with_its_findings(gateway: Bus) -> None:
    with pytest.raises(ProblemError) as caught:
        await submitted(gateway, b"no zip at all")

    assert caught.value.problem.code == "INVALID_ZIP"
    assert [finding.code for finding in caught.value.problem.details.findings] == ["not-a-zip"]


async def test_without_a_scorer_the_uploader_is_told_to_try_again(gateway: Bus) -> None:
    with pytest.raises(ProblemError) as caught:
        await submitted(gateway, skill_zip())

    assert caught.value.problem.code == "SERVICE_UNAVAILABLE"
