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
    _needs_observation(subject)
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


async def one_process_that_tries_again_makes_one_call(subject: ProviderUnderTest) -> None:
    _needs_observation(subject)
    async with subject.open("blocked") as sandbox:
        await sandbox.execute(subject.dialect.look_up_all(*["one.example"] * 6))
        (call,) = await sandbox.network_calls()
    assert (call.destination, call.attempts) == ("one.example", 6)
    assert call.process is not None


async def one_process_and_two_places_are_two_calls(subject: ProviderUnderTest) -> None:
    _needs_observation(subject)
    places = ["one.example", "two.example", "one.example"]
    async with subject.open("blocked") as sandbox:
        await sandbox.execute(subject.dialect.look_up_all(*places))
        calls = await sandbox.network_calls()
    assert [(call.destination, call.attempts) for call in calls] == [
        ("one.example", 2),
        ("two.example", 1),
    ]
    assert calls[0].process == calls[1].process


async def two_processes_make_two_calls(subject: ProviderUnderTest) -> None:
    _needs_observation(subject)
    look_up = subject.dialect.look_up("one.example")
    async with subject.open("blocked") as sandbox:
        await sandbox.execute(look_up)
        await sandbox.execute(look_up)
        calls = await sandbox.network_calls()
    assert [call.destination for call in calls] == ["one.example"] * 2
    assert calls[0].process != calls[1].process


async def a_name_that_is_asked_for_in_other_domains_is_one_call(subject: ProviderUnderTest) -> None:
    _needs_observation(subject)
    async with subject.open("blocked") as sandbox:
        await sandbox.execute(subject.dialect.look_up("one.example"))
        (call,) = await sandbox.network_calls()
    assert (call.destination, call.attempts) == ("one.example", 1)


async def a_call_tells_the_program_that_made_it(subject: ProviderUnderTest) -> None:
    _needs_observation(subject)
    look_up = subject.dialect.look_up("one.example")
    async with subject.open("blocked") as sandbox:
        await sandbox.execute(look_up, cwd="/workspace/skills")
        (call,) = await sandbox.network_calls()
    assert call.programs[0].command_line.split()[0] == look_up.split()[0]
    assert call.programs[0].folder == "/workspace/skills"


def _needs_observation(subject: ProviderUnderTest) -> None:
    if not subject.observes_calls:
        raise NotApplicable("network calls are not observed")


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
