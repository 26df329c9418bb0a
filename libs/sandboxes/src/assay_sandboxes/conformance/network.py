"""What a sandbox says of its network."""

from datetime import UTC, datetime

from assay_contracts.runs import NetworkMode
from assay_sandboxes.conformance.expectations import NotApplicable, Raises
from assay_sandboxes.conformance.under_test import ProviderUnderTest
from assay_sandboxes.port import COMMAND_CHARS, NOT_OBSERVED, NotOffline


async def an_untouched_sandbox_has_made_no_calls(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        await sandbox.execute("echo nothing to see")
        assert await sandbox.network_calls() == []


async def each_call_is_listed_with_its_command_time_and_place(subject: ProviderUnderTest) -> None:
    if not subject.observes_calls:
        raise NotApplicable("network calls are not observed")
    before = datetime.now(UTC)
    by_name = subject.dialect.look_up("one.example")
    by_address = subject.dialect.connect("192.0.2.7", 443)
    async with subject.open("blocked") as sandbox:
        assert (await sandbox.execute(by_name)).exit_code == 1
        assert (await sandbox.execute(by_address)).exit_code == 1
        calls = await sandbox.network_calls()
        assert await sandbox.network_calls() == calls
    assert [call.destination for call in calls] == ["one.example", "192.0.2.7:443"]
    assert [call.command for call in calls] == [by_name[:COMMAND_CHARS], by_address[:COMMAND_CHARS]]
    assert before <= calls[0].at <= calls[1].at <= datetime.now(UTC)


async def a_blocked_sandbox_reaches_nothing(subject: ProviderUnderTest) -> None:
    if not subject.blocks_network:
        raise NotApplicable("the network cannot be blocked")
    async with subject.open("blocked") as sandbox:
        assert (await sandbox.execute(subject.dialect.look_up("one.example"))).exit_code == 1
        assert (await sandbox.execute(subject.dialect.connect("1.1.1.1", 53))).exit_code == 1


async def an_open_sandbox_says_so_and_how_it_knows(subject: ProviderUnderTest) -> None:
    await _says_its_mode(subject, "open")


async def a_blocked_sandbox_says_so_and_how_it_knows(subject: ProviderUnderTest) -> None:
    if subject.blocks_network:
        await _says_its_mode(subject, "blocked")
        return
    with Raises(NotOffline):
        async with subject.open("blocked"):
            raise AssertionError("it was opened")


async def _says_its_mode(subject: ProviderUnderTest, network: NetworkMode) -> None:
    async with subject.open(network) as sandbox:
        proof = sandbox.proof()
    assert (proof.kind, proof.network, proof.base) == (subject.provider.kind, network, "base")
    assert proof.proof
    assert proof.observation
    observed = not proof.observation.startswith(NOT_OBSERVED)
    assert network == "open" or observed == subject.observes_calls
