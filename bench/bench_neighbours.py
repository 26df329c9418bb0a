# ruff: noqa: E501  # programs, a line for each
"""An honest validation beside hostile ones: it passes, and in not much more than its own time."""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

from assay_contracts.runs import RunFinished
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.port import Sandbox, SandboxUnavailable
from assay_testkit.runner import Runner, a_run, a_task
from bench.report import Bench

ROUNDS: Final = 20
SLOWDOWN_BAR: Final = 3.0
HOSTILE: Final = {
    "spinners and forks": "import os\nfor _ in range(119):\n    if os.fork() == 0: os.setsid(); break\n"
    "while True:\n    try:\n        if os.fork() == 0: os._exit(0)\n    except OSError: pass",
    "memory": "import os\nfor _ in range(8): os.fork()\nheld = []\n"
    "while True:\n    try: held.append(bytearray(os.urandom(1)) * (64 << 20))\n    except MemoryError: pass",
    "descriptors and network": "import os, socket\nfor _ in range(8): os.fork()\nheld = []\n"
    "while True:\n    try:\n        held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))\n"
    "        held[-1].sendto(b'x', ('192.0.2.1', 9))\n"
    "    except OSError:\n        try: socket.gethostbyname('a.example')\n        except OSError: pass",
    "output": "import os\nos.fork()\nwhile True: os.write(1, b'x' * 65536); os.write(2, b'x' * 65536)",
}
"""What goes on in four sandboxes beside it."""


async def run(bench: Bench) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        provider = BubblewrapProvider(Path(folder) / "state")
        try:
            runner = Runner(provider, Path(folder))
            alone = statistics.median([await _honest(runner) for _ in range(5)])
            stop = asyncio.Event()
            hostile = [
                asyncio.create_task(_hostile(provider, Path(folder), program, stop))
                for program in HOSTILE.values()
            ]
            await asyncio.sleep(5)
            beside = [await _honest(runner) for _ in range(ROUNDS)]
            stop.set()
            await asyncio.gather(*hostile)
        finally:
            await provider.close()
    bench.show("an honest run alone, p50", f"{alone * 1000:.0f} ms")
    bench.show("beside four hostile sandboxes, p50", f"{statistics.median(beside) * 1000:.0f} ms")
    within = sum(each <= SLOWDOWN_BAR * alone for each in beside)
    bench.show("the slowest of them, times its time alone", f"{max(beside) / alone:.2f}")
    bench.reach("done within three times its time alone", within, ROUNDS, f"of {ROUNDS}")


async def _honest(runner: Runner) -> float:
    """A run of three tasks whose model answers at once; its seconds."""
    tasks = tuple(a_task(f"t{number}") for number in (1, 2, 3))
    request = a_run("online", runner.store.add_skill(), tasks=tasks)
    began = time.perf_counter()
    finished = await runner.use_case()(request)
    assert isinstance(finished, RunFinished)
    assert finished.failure is None, finished.failure
    return time.perf_counter() - began


async def _hostile(
    provider: BubblewrapProvider, folder: Path, program: str, stop: asyncio.Event
) -> None:
    """Go on with it, in a new sandbox whenever one is lost, until told to stop."""
    skills = folder / "no-skills"
    await asyncio.to_thread(skills.mkdir, exist_ok=True)
    while not stop.is_set():
        try:
            async with provider.open(name="hostile", skills=skills, network="open") as sandbox:
                await sandbox.upload([("/workspace/hostile.py", program.encode())])
                await _until(stop, sandbox)
        except SandboxUnavailable:
            continue


async def _until(stop: asyncio.Event, sandbox: Sandbox) -> None:
    while not stop.is_set():
        command = asyncio.create_task(sandbox.execute("python3 hostile.py", timeout_s=20))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([command, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if command.done():
            command.result()
        else:
            command.cancel()
