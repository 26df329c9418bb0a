"""What the platform itself costs: time and memory beside models and sandbox commands."""

import asyncio
import io
import statistics
import tempfile
import time
import zipfile
from pathlib import Path

import httpx
import nats
from nats.aio.msg import Msg

from assay_cli.embedded.stack import Stack
from assay_contracts.validations import ValidationCompleted
from bench.report import Bench

EXAMPLE = Path(__file__).parents[1] / "examples/skills/csv-analyzer"
VALIDATIONS = 5
OVERHEAD_BAR_S = 1.5
MEMORY_BAR_MB = 1200.0


def renamed(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(EXAMPLE.rglob("*")):
            if path.is_file():
                text = path.read_text().replace("name: csv-analyzer", f"name: {name}")
                archive.writestr(f"{name}/{path.relative_to(EXAMPLE)}", text)
    return buffer.getvalue()


def resident_mb(root: int) -> float:
    """Resident memory of a process and all its descendants."""
    children: dict[int, list[int]] = {}
    resident: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = dict(
                line.split(":", 1) for line in (folder / "status").read_text().splitlines()
            )
        except (OSError, ValueError):
            continue
        pid = int(folder.name)
        children.setdefault(int(fields["PPid"]), []).append(pid)
        resident[pid] = int(fields.get("VmRSS", "0 kB").split()[0])
    total, todo = 0, [root]
    while todo:
        pid = todo.pop()
        total += resident.get(pid, 0)
        todo += children.get(pid, [])
    return total / 1024


async def run(bench: Bench) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        began = time.perf_counter()
        async with Stack(Path(folder)) as stack:
            bench.show("stack ready after", f"{time.perf_counter() - began:.2f} s")
            idle = sum(resident_mb(pid) for pid in stack.pids().values())
            bench.hold("idle memory of the stack, resident", idle, MEMORY_BAR_MB, "MB")
            await validate(bench, stack)


async def validate(bench: Bench, stack: Stack) -> None:
    heard: asyncio.Queue[ValidationCompleted] = asyncio.Queue()

    async def hear(message: Msg) -> None:
        await heard.put(ValidationCompleted.model_validate_json(message.data))

    observer = await nats.connect(stack.observer_url)
    await observer.subscribe(ValidationCompleted.SUBJECT, cb=hear)
    await observer.flush()
    overheads, walls = [], []
    headers = {"Authorization": f"Bearer {stack.admin_token}"}
    async with httpx.AsyncClient(base_url=stack.url, headers=headers, timeout=60) as http:
        for number in range(VALIDATIONS + 1):
            content = renamed(f"table-facts-{number}")
            answer = await http.post(
                "/api/admin/skills/upload", files={"file": ("skill.zip", content)}
            )
            answer.raise_for_status()
            completed = await asyncio.wait_for(heard.get(), 120)
            assert completed.verdict == "passed", completed.reason
            timings = completed.timings
            wall = (timings.completed_at - timings.queued_at).total_seconds()
            # The first one pays for imports and caches, once in a service's life.
            if number:
                walls.append(wall)
                overheads.append(wall - timings.model_seconds - timings.command_seconds)
    await observer.close()
    wall, overhead = statistics.median(walls), statistics.median(overheads)
    bench.show("one validation, wall time (median)", f"{wall:.2f} s")
    bench.hold("platform overhead of one validation (median)", overhead, OVERHEAD_BAR_S, "s")
    bench.show("its share of the wall time", f"{overhead / wall:.0%}")
