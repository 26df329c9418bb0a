"""What commands do, alike in every sandbox."""

import asyncio
from typing import Final

from assay_sandboxes.conformance.expectations import Raises
from assay_sandboxes.conformance.under_test import LIMITS, ProviderUnderTest
from assay_sandboxes.port import TIMED_OUT, FileError, Limits

_NOT_FOUND: Final = 127
_SHORT_S: Final = 2
_LONG_S: Final = 15
_SIDE_BY_SIDE: Final = 8
"""Commands that take a second each; one after another they would take as many seconds."""


async def a_command_gives_its_output_and_exit_code(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        result = await sandbox.execute("echo hello")
    assert (result.stdout, result.stderr, result.exit_code) == ("hello\n", "", 0)
    assert not result.timed_out
    assert not result.truncated
    assert 0 <= result.seconds < LIMITS.command_seconds


async def errors_come_apart_from_output_and_last_when_joined(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        result = await sandbox.execute("echo wrong >&2; echo right")
    assert (result.stdout, result.stderr) == ("right\n", "wrong\n")
    assert result.output == "right\nwrong\n"


async def an_exit_code_is_passed_on(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        result = await sandbox.execute("echo before; exit 7; echo after")
    assert (result.stdout, result.exit_code) == ("before\n", 7)


async def a_command_that_does_not_exist_fails_by_itself(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        result = await sandbox.execute("no-such-command")
        assert result.exit_code == _NOT_FOUND
        assert "not found" in result.stderr
        assert (await sandbox.execute("true")).exit_code == 0


async def commands_start_in_the_workspace(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        assert (await sandbox.execute("pwd")).stdout == "/workspace\n"


async def commands_start_where_they_are_told(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        await sandbox.upload([("/workspace/deep/down/here.txt", b"found")])
        result = await sandbox.execute("cat here.txt", cwd="/workspace/deep/down")
    assert result.stdout == "found"


async def output_in_any_alphabet_survives(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        assert (await sandbox.execute("echo 你好 Straße")).stdout == "你好 Straße\n"


async def a_slow_command_is_stopped_in_time(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        result = await sandbox.execute("echo started; sleep 30", timeout_s=_SHORT_S)
        assert (result.timed_out, result.exit_code) == (True, TIMED_OUT)
        assert result.stdout == "started\n"
        assert _SHORT_S <= result.seconds < LIMITS.command_seconds
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def no_call_gets_more_time_than_the_limits_allow(subject: ProviderUnderTest) -> None:
    limits = Limits(command_seconds=0.3)
    async with subject.open(limits=limits) as sandbox:
        assert (await sandbox.execute("sleep 15", timeout_s=60)).timed_out
        assert (await sandbox.execute("sleep 15")).timed_out


async def long_output_is_cut_in_the_middle_and_says_so(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        result = await sandbox.execute(f"echo first; {subject.dialect.flood(100_000)}; echo last")
    assert result.truncated
    assert result.stdout.startswith("first\n")
    assert result.stdout.endswith("last\n")
    assert "bytes omitted" in result.stdout
    assert len(result.stdout) < LIMITS.output_bytes + 100
    assert result.exit_code == 0


async def output_just_within_the_limit_is_whole(subject: ProviderUnderTest) -> None:
    lines = LIMITS.output_bytes // len("line\n")
    async with subject.open() as sandbox:
        result = await sandbox.execute(subject.dialect.flood(lines))
    assert not result.truncated
    assert result.stdout == "line\n" * lines


async def a_cancelled_command_leaves_the_sandbox_usable(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        task = asyncio.create_task(sandbox.execute("sleep 15"))
        await asyncio.sleep(0)  # let it start
        task.cancel()
        with Raises(asyncio.CancelledError):
            await task
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def commands_run_side_by_side(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        results = await asyncio.gather(
            *(sandbox.execute(f"sleep 1; echo {number}") for number in range(_SIDE_BY_SIDE))
        )
    assert [result.stdout for result in results] == [
        f"{number}\n" for number in range(_SIDE_BY_SIDE)
    ]
    assert max(result.seconds for result in results) < _SIDE_BY_SIDE


async def a_command_that_reads_its_input_finds_nothing_there(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        result = await sandbox.execute("cat; echo done", timeout_s=5)
    assert (result.stdout, result.exit_code, result.timed_out) == ("done\n", 0, False)


async def a_command_that_leaves_something_running_is_not_held_up_by_it(
    subject: ProviderUnderTest,
) -> None:
    async with subject.open() as sandbox:
        result = await sandbox.execute(subject.dialect.leave_running(_LONG_S))
        assert (result.stdout, result.exit_code, result.timed_out) == ("started\n", 0, False)
        assert result.seconds < _LONG_S - 5
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def a_command_out_of_time_does_no_more(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        late = await sandbox.execute("sleep 1; echo x > late.txt", timeout_s=0.2)
        assert late.timed_out
        await sandbox.execute("sleep 1.2")
        (found,) = await sandbox.download(["/workspace/late.txt"])
    assert found == FileError("/workspace/late.txt", "file_not_found")


async def a_cancelled_command_does_no_more(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        task = asyncio.create_task(sandbox.execute("sleep 1; echo x > late.txt"))
        await asyncio.wait([task], timeout=0.2)
        task.cancel()
        with Raises(asyncio.CancelledError):
            await task
        await sandbox.execute("sleep 1.2")
        (found,) = await sandbox.download(["/workspace/late.txt"])
    assert found == FileError("/workspace/late.txt", "file_not_found")
