"""What commands in bubblewrap sandboxes do, and how they end."""

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from assay_sandboxes.bubblewrap.host import layout
from assay_sandboxes.conformance.under_test import LIMITS, ProviderUnderTest, python
from assay_sandboxes.port import FileError, Sandbox
from assay_testkit.processes import processes_with
from assay_testkit.waiting import until


def left_in(state: Path) -> list[str]:
    return sorted(path.name for path in (state / "sandboxes").iterdir())


async def test_a_command_gets_nothing_on_its_input(blocked_sandbox: Sandbox) -> None:
    result = await blocked_sandbox.execute("cat; echo done")
    assert (result.stdout, result.exit_code) == ("done\n", 0)


async def test_a_command_killed_by_a_signal_says_so(blocked_sandbox: Sandbox) -> None:
    assert (await blocked_sandbox.execute("kill -TERM $$")).exit_code == 128 + signal.SIGTERM


async def test_a_command_that_cannot_be_started_fails_by_itself(blocked_sandbox: Sandbox) -> None:
    no_folder = await blocked_sandbox.execute("true", cwd="/workspace/none")
    assert (no_folder.exit_code, no_folder.stdout) == (126, "")
    assert "No such file" in no_folder.stderr
    too_long = await blocked_sandbox.execute("#" * 3_000_000)
    assert too_long.exit_code == 126
    assert "Argument list too long" in too_long.stderr
    zero = await blocked_sandbox.execute("echo a\0b")
    assert zero.exit_code == 126
    assert (await blocked_sandbox.execute("echo alive")).stdout == "alive\n"


async def test_both_names_of_python_work(blocked_sandbox: Sandbox) -> None:
    result = await blocked_sandbox.execute("python -c 'print(1)' && python3 -c 'print(2)'")
    assert result.stdout == "1\n2\n"


async def test_a_machine_without_python_of_its_own_shares_the_runners(
    bubblewrap: ProviderUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    shared = layout.Interpreter(path, sys.base_prefix)
    monkeypatch.setattr(layout, "interpreter", lambda: shared)
    async with bubblewrap.open() as sandbox:
        result = await sandbox.execute("python3 -c 'import sys; print(sys.base_prefix)'")
        assert result.stdout == f"{sys.base_prefix}\n"
        assert (await sandbox.execute(f"touch {sys.base_prefix}/new")).exit_code != 0
        assert await sandbox.packages()


TREE = """
import os, subprocess, time
subprocess.Popen(["setsid", "sleep", "MARK"])
subprocess.Popen(["nohup", "sleep", "MARK"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "MARK"])
    os._exit(0)
print("started", flush=True)
time.sleep(60)
"""


async def test_a_time_limit_ends_all_that_the_command_started(any_sandbox: Sandbox) -> None:
    mark = f"{os.getpid()}0001"
    task = asyncio.create_task(
        any_sandbox.execute(python(TREE.replace("MARK", mark)), timeout_s=1.5)
    )
    await until(lambda: len(processes_with(f"sleep\0{mark}")) == 3, why="all of them run")
    assert (await task).timed_out
    assert processes_with(f"sleep\0{mark}") == []


async def test_cancelling_ends_all_that_the_command_started(any_sandbox: Sandbox) -> None:
    mark = f"{os.getpid()}0002"
    task = asyncio.create_task(any_sandbox.execute(python(TREE.replace("MARK", mark))))
    await until(lambda: len(processes_with(f"sleep\0{mark}")) == 3, why="all of them run")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not processes_with(f"sleep\0{mark}"), why="all of them ended")


async def test_what_a_command_leaves_running_serves_the_next(blocked_sandbox: Sandbox) -> None:
    await blocked_sandbox.upload([("/workspace/page.txt", b"served")])
    started = await blocked_sandbox.execute("python3 -m http.server 8000 & echo $!")
    assert started.seconds < LIMITS.command_seconds / 2
    fetch = (
        "import time, urllib.request\n"
        "for attempt in range(100):\n"
        "    try: print(urllib.request.urlopen('http://127.0.0.1:8000/page.txt').read()); break\n"
        "    except OSError: time.sleep(0.1)"
    )
    for _ in range(2):
        assert (await blocked_sandbox.execute(python(fetch))).stdout == "b'served'\n"


async def test_nothing_outlives_the_sandbox(bubblewrap: ProviderUnderTest, tmp_path: Path) -> None:
    mark = f"{os.getpid()}0003"
    async with bubblewrap.open() as sandbox:
        await sandbox.execute(f"setsid sleep {mark} & nohup sleep {mark} & exit 0")
        await until(lambda: len(processes_with(f"sleep\0{mark}")) == 2, why="all of them run")
        inside = sandbox.id
        assert left_in(tmp_path / "state") == [inside]
    assert processes_with(f"sleep\0{mark}") == []
    assert left_in(tmp_path / "state") == []


async def test_special_files_do_not_hold_a_transfer_up(blocked_sandbox: Sandbox) -> None:
    await blocked_sandbox.execute("mkfifo pipe; ln -s loop loop")
    paths = ["/workspace/pipe", "/dev/zero", "/workspace/loop", "/workspace/a\0b"]
    async with asyncio.timeout(30):
        downloaded = await blocked_sandbox.download(paths)
        uploaded = await blocked_sandbox.upload(
            [(path, b"x") for path in paths if path != "/dev/zero"]
        )
    assert downloaded == [FileError(path, "invalid_path") for path in paths]
    assert [answer and answer.problem for answer in uploaded] == ["invalid_path"] * 3


async def test_no_thread_is_taken_by_commands_and_transfers(blocked_sandbox: Sandbox) -> None:
    before = threading.active_count()
    running = [asyncio.create_task(blocked_sandbox.execute("sleep 1")) for _ in range(20)]
    await asyncio.gather(*(blocked_sandbox.download(["/workspace/none"]) for _ in range(20)))
    assert threading.active_count() <= before + 1  # one looks at what is on disk
    await asyncio.gather(*running)
