"""The plainest thing that could answer, to measure ours beside."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx

from assay_cli.embedded.ports import free_ports


@asynccontextmanager
async def bare_app(source: str, folder: Path) -> AsyncIterator[str]:
    """Serve the `app` of this Python source in a process of its own; gives its address."""
    (folder / "bare.py").write_text(source)
    (port,) = free_ports(1)
    command = ("-m", "uvicorn", "bare:app", "--app-dir", str(folder), "--port", str(port))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, "--log-level", "warning", cwd=folder
    )
    url = f"http://127.0.0.1:{port}"
    try:
        async with httpx.AsyncClient(base_url=url) as http, asyncio.timeout(30):
            while not await _is_there(http):
                await asyncio.sleep(0.05)
        yield url
    finally:
        process.terminate()
        await process.wait()


async def _is_there(http: httpx.AsyncClient) -> bool:
    try:
        await http.get("/")
    except httpx.TransportError:
        return False
    return True


@contextmanager
def held(*pids: int) -> Iterator[None]:
    """Keep these processes from running, so that they take nothing from what is measured."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def quantile(times: list[float], share: float) -> float:
    return sorted(times)[int(share * len(times))]
