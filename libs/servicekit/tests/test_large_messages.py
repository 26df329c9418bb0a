"""No message is larger than the bus takes, and nothing is lost by that in silence."""

import asyncio
from typing import BinaryIO, cast
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from assay_contracts.base import LARGEST_BYTES, MESSAGE_BYTES, Message, Result
from assay_contracts.runs import Package, RunFinished
from assay_contracts.topology import RECORDED, WORK_MESSAGES, ServiceName
from assay_contracts.validations import CleanupFinished, CleanupRequested
from assay_servicekit.bus import Bus
from assay_servicekit.large_messages import BodyMissing, MessageTooLarge, fitted, whole
from assay_servicekit.objects import ObjectStore
from assay_servicekit.settings import ServiceSettings
from assay_testkit.messages import message_of
from assay_testkit.servers import RunningNats


class ObjectsInMemory:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def put(self, _: str, key: str, data: bytes | BinaryIO) -> None:
        assert isinstance(data, bytes)
        self.kept[key] = data

    async def get(self, _: str, key: str) -> bytes:
        return self.kept[key]


def grown(message: Message, size: int) -> bytes:
    """The message with a field that it is said to have been given so many bytes."""
    body = message.model_dump_json().encode()
    return body[:-1] + b',"added_later":"' + b"x" * size + b'"}'


@pytest.mark.parametrize("contract", [*RECORDED, *WORK_MESSAGES], ids=lambda each: each.SUBJECT)
@settings(max_examples=1, deadline=None)
@given(data=st.data())
def test_work_and_results_of_any_size_fit_or_are_refused(
    contract: type[Message], data: st.DataObject
) -> None:
    asyncio.run(any_size_fits_or_is_refused(contract, data.draw(message_of(contract))))


async def any_size_fits_or_is_refused(contract: type[Message], message: Message) -> None:
    memory = ObjectsInMemory()
    objects = cast("ObjectStore", memory)
    for size in (0, MESSAGE_BYTES, LARGEST_BYTES // 2):
        said = await fitted(grown(message, size), objects, may_go_apart=True)
        assert len(said) <= MESSAGE_BYTES
        heard = contract.said_as(await whole(said, objects))
        assert heard == message
    for apart, kept in memory.kept.items():
        # Who may read the bucket must not learn from it what only the worker may know.
        assert str(message.message_id).encode() not in kept, apart
    with pytest.raises(MessageTooLarge, match="added_later"):
        await fitted(grown(message, LARGEST_BYTES), objects, may_go_apart=True)
    with pytest.raises(MessageTooLarge):
        await fitted(grown(message, MESSAGE_BYTES), objects, may_go_apart=False)


async def test_a_body_that_was_changed_is_not_taken() -> None:
    memory = ObjectsInMemory()
    objects = cast("ObjectStore", memory)
    said = await fitted(grown(finished(), MESSAGE_BYTES), objects, may_go_apart=True)
    (key,) = memory.kept
    memory.kept[key] = memory.kept[key].replace(b"xx", b"xy", 1)
    with pytest.raises(BodyMissing):
        await whole(said, objects)


def finished() -> CleanupFinished:
    return CleanupFinished(validation_id=uuid4(), step_id="s", attempt=1, work_id=uuid4())


def test_what_a_package_says_of_itself_is_bounded() -> None:
    package = Package(
        ecosystem="npm",
        name="n" * 100_000,
        version="1" * 200_000,
        requires=("r" * 100_000,),
    )
    assert len(package.model_dump_json()) < 1200
    assert package.version.endswith("(200000 characters)")
    assert Package(ecosystem="pip", name="numpy", version="2.4.1").version == "2.4.1"


def connected(server: RunningNats, service: ServiceName) -> Bus:
    return Bus(ServiceSettings(nats_url=SecretStr(server.url(service)), handover_s=0.1), service)


async def test_a_large_result_is_heard_whole_and_one_too_large_frees_its_slot(
    fresh_nats_server: RunningNats,
) -> None:
    heard: asyncio.Queue[Result] = asyncio.Queue()
    scorer = connected(fresh_nats_server, "scorer")
    runner = connected(fresh_nats_server, "sandbox-runner")
    packages = tuple(
        Package(ecosystem="npm", name=f"package-{n}", version="1.0.0", requires=("x" * 400,))
        for n in range(4000)
    )

    async def work_on(work: CleanupRequested) -> Result:
        several = {"fits": 10, "goes apart": 4000, "too large": 40_000}[work.snapshots[0]]
        return RunFinished(
            validation_id=work.validation_id,
            step_id=work.step_id,
            attempt=work.attempt,
            packages_after=(packages * 10)[:several],
        )

    scorer.on_fact(RunFinished, heard.put)
    scorer.on_fact(CleanupFinished, heard.put)
    runner.on_work(CleanupRequested, work_on, slots=1)
    for bus in (scorer, runner):
        await bus.connect()
        await bus.start()
    try:
        for name in ("too large", "goes apart", "fits"):
            await scorer.say(
                CleanupRequested(
                    validation_id=uuid4(),
                    skill_id=uuid4(),
                    skill_name="x",
                    step_id=f"{uuid4()}.{name}",
                    attempt=1,
                    snapshots=(name,),
                )
            )
        results = [await asyncio.wait_for(heard.get(), 20) for _ in range(3)]
    finally:
        await runner.stop()
        await scorer.stop()
    by_name = {result.step_id.partition(".")[2]: result for result in results}
    lost = by_name["too large"].failure
    assert lost is not None
    assert "packages_after" in lost.reason
    for name, number in (("goes apart", 4000), ("fits", 10)):
        result = by_name[name]
        assert isinstance(result, RunFinished)
        assert result.packages_after == packages[:number]
        assert result.work_id is not None
