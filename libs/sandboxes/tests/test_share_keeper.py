"""A sandbox keeps to its share of processors and memory, as root and as an ordinary user."""

import asyncio
import os
import resource
import time
from pathlib import Path

import pytest

from assay_sandboxes.bubblewrap.warden import share_keeper
from assay_sandboxes.bubblewrap.warden.share_keeper import Savings, ShareKeeper, look


def test_a_sandbox_that_uses_what_it_saved_steps_back_until_it_has_saved_again() -> None:
    savings = Savings()
    assert not any(savings.spend(0.1, 0.2) for _ in range(100))
    busy = [savings.spend(0.4, 0.2) for _ in range(30)]
    assert not any(busy[:8])
    assert all(busy[12:])
    resting = [savings.spend(0.0, 0.2) for _ in range(60)]
    assert resting[0]
    assert not resting[-1]


def test_a_short_piece_of_hard_work_is_not_held_up() -> None:
    savings = Savings()
    assert not any(savings.spend(0.2, 0.2) for _ in range(20))


async def test_what_all_processes_hold_together_is_bounded() -> None:
    """Three that share what they hold are well; one that takes as much again ends the largest."""
    told: list[int] = []
    child = os.fork()
    if child == 0:
        _hold_and_fork(40 * 1024**2)
    try:
        keeper = ShareKeeper(
            child,
            weights=(),
            memory_bytes=250 * 1024**2,
            ending_for_memory=lambda: told.append(1),
        )
        keeping = asyncio.create_task(keeper.keep())
        async with asyncio.timeout(30):
            while not told:
                await asyncio.sleep(0.05)
        keeping.cancel()
        assert len(look(child).resident) >= 1
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)  # noqa: ASYNC222  # it is killed already


def _hold_and_fork(size: int) -> None:
    shared = bytearray(size)
    shared[:] = os.urandom(1) * size
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in range(3):
        if os.fork() == 0:
            if number == 2:
                grown = bytearray(300 * 1024**2)
                grown[:] = b"x" * len(grown)
            time.sleep(60)
            os._exit(0)
    time.sleep(60)
    os._exit(0)


async def test_who_steps_back_weighs_less_and_whoever_is_about_to_end_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_keeper, "_MOST_SAVED_S", 0.1)
    monkeypatch.setattr(share_keeper, "SHARE", 0.001)
    weight = tmp_path / "cpu.weight"
    weight.write_text("100")
    descriptor = os.open(weight, os.O_RDWR)
    child = os.fork()
    if child == 0:
        for _ in range(os.cpu_count() or 1):
            if os.fork() == 0:
                break
        while True:
            pass
    keeper = ShareKeeper(
        child, weights=[(descriptor, "100", "006")], memory_bytes=None, ending_for_memory=list
    )
    keeping = asyncio.create_task(keeper.keep())
    try:
        async with asyncio.timeout(60):
            while weight.read_text() != "006":
                await asyncio.sleep(0.05)
        keeper.let_end()
        assert weight.read_text() == "100"
    finally:
        keeping.cancel()
        for process in (*look(child).resident, child):
            os.kill(process, 9)
        os.waitpid(child, 0)  # noqa: ASYNC222  # it is killed already
        os.close(descriptor)


@pytest.mark.parametrize("gone", [1 << 22])
def test_a_sandbox_that_is_gone_has_used_nothing(gone: int) -> None:
    assert look(gone) == (0.0, {}, {})
