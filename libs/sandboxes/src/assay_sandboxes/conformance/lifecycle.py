"""How sandboxes begin and end, alike for every provider."""

import asyncio
from typing import Final

from assay_sandboxes.conformance.expectations import Raises
from assay_sandboxes.conformance.under_test import ProviderUnderTest
from assay_sandboxes.port import FileError, SandboxUnavailable

_SIDE_BY_SIDE: Final = 4


async def sandboxes_of_one_name_are_told_apart_and_kept_apart(subject: ProviderUnderTest) -> None:
    async with subject.open(name="twin") as one, subject.open(name="twin") as other:
        assert one.id != other.id
        await one.upload([("/workspace/secret", b"mine"), ("/home/agent/secret", b"mine")])
        found = await other.download(["/workspace/secret", "/home/agent/secret"])
        assert found == [
            FileError("/workspace/secret", "file_not_found"),
            FileError("/home/agent/secret", "file_not_found"),
        ]


async def a_closed_sandbox_takes_no_orders(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        pass
    with Raises(SandboxUnavailable):
        await sandbox.execute("true")
    with Raises(SandboxUnavailable):
        await sandbox.upload([("/workspace/a", b"")])
    with Raises(SandboxUnavailable):
        await sandbox.home_files()


async def an_error_in_its_use_passes_through_and_closes_it(subject: ProviderUnderTest) -> None:
    with Raises(ZeroDivisionError):
        async with subject.open() as sandbox:
            raise ZeroDivisionError
    with Raises(SandboxUnavailable):
        await sandbox.execute("true")


async def a_sweep_leaves_what_is_in_use(subject: ProviderUnderTest) -> None:
    async with subject.open(environment=await subject.environment()) as sandbox:
        assert await subject.provider.sweep() == []
        assert (await sandbox.execute("echo alive")).stdout == "alive\n"


async def sandboxes_are_opened_side_by_side(subject: ProviderUnderTest) -> None:
    async def use(number: int) -> tuple[str, str]:
        async with subject.open(name=f"side-{number}") as sandbox:
            return sandbox.id, (await sandbox.execute(f"echo {number}")).stdout

    used = await asyncio.gather(*(use(number) for number in range(_SIDE_BY_SIDE)))
    assert len({identity for identity, _ in used}) == _SIDE_BY_SIDE
    assert [said for _, said in used] == [f"{number}\n" for number in range(_SIDE_BY_SIDE)]


async def one_that_is_cancelled_while_it_opens_leaves_nothing(subject: ProviderUnderTest) -> None:
    async def use() -> None:
        async with subject.open() as sandbox:
            await sandbox.execute("sleep 15")

    task = asyncio.create_task(use())
    await asyncio.wait([task], timeout=0.05)
    task.cancel()
    with Raises(asyncio.CancelledError):
        await task
    assert await subject.provider.sweep() == []


async def a_provider_may_be_closed_again(subject: ProviderUnderTest) -> None:
    async with subject.open() as sandbox:
        await sandbox.execute("true")
    await subject.provider.close()
    await subject.provider.close()
