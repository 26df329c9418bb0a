"""What sandboxes on this machine cost, beside the bare `bwrap` they are made with."""

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from assay_contracts.runs import NetworkMode, RunFinished
from assay_sandboxes.bubblewrap.bwrap import bwrap_path
from assay_sandboxes.bubblewrap.host import layout
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.bubblewrap.process_one.launcher import STAGE
from assay_sandboxes.port import Environment
from assay_testkit.runner import Runner, a_run, a_task
from bench.report import Bench

ROUNDS: Final = 25
RATIO_BAR: Final = 5.0
LARGE_BAR: Final = 1.2
FOLDERS: Final = 100
FILES: Final = 20_000
FILE_BYTES: Final = 53_000
NETWORKS: Final[tuple[NetworkMode, ...]] = ("open", "blocked")
_BINDS: Final = frozenset({"--bind", "--ro-bind"})
_LAUNCHERS: Final = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--disable-userns", "--as-pid-1"),
    *("--new-session", "--uid", "1000", "--gid", "1000"),
)
"""What the launcher does for a sandbox in the place of `bwrap`."""


async def run(bench: Bench) -> None:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        skills = Path(folder) / "skills"
        skills.mkdir()
        provider = BubblewrapProvider(Path(folder) / "state")
        try:
            for network in NETWORKS:
                await _one_after_another(bench, provider, skills, network)
            for number in (5, 20):
                await _side_by_side(bench, provider, skills, number)
            await _on_a_large_environment(bench, provider, skills, Path(folder))
        finally:
            await provider.close()
        await _three_tasks(bench, Path(folder) / "runner")


async def _use(
    provider: BubblewrapProvider,
    skills: Path,
    network: NetworkMode,
    environment: Environment | None = None,
) -> float:
    """Create, run one command, delete; the milliseconds that took."""
    began = time.perf_counter()
    async with provider.open(
        name="bench", skills=skills, network=network, environment=environment
    ) as sandbox:
        assert (await sandbox.execute("true")).exit_code == 0
    return (time.perf_counter() - began) * 1000


async def _one_after_another(
    bench: Bench, provider: BubblewrapProvider, skills: Path, network: NetworkMode
) -> None:
    await _use(provider, skills, network)
    ours, bare = [], []
    for _ in range(ROUNDS):  # in turns, so that whatever else the machine does falls on both
        ours.append(await _use(provider, skills, network))
        bare.append(_bare_bwrap())
    median, bare_median = statistics.median(ours), statistics.median(bare)
    bench.show(f"create, first command, delete ({network}), p50", f"{median:.1f} ms")
    bench.show(f"bare bwrap running `true`, same namespaces ({network})", f"{bare_median:.1f} ms")
    bench.hold(f"ratio ({network})", median / bare_median, RATIO_BAR, "times")


async def _on_a_large_environment(
    bench: Bench, provider: BubblewrapProvider, skills: Path, folder: Path
) -> None:
    """What an environment holds is nowhere copied, so that its size costs nothing."""
    layer = folder / "layer"
    for number in range(FOLDERS):
        (layer / f"folder-{number}").mkdir(parents=True)
        for file in range(FILES // FOLDERS):
            (layer / f"folder-{number}" / f"file-{file}").write_bytes(os.urandom(FILE_BYTES))
    large = Environment(name="large", digest="0" * 64, layers=(layer,))
    on_large, on_none = [], []
    for _ in range(ROUNDS):
        on_large.append(await _use(provider, skills, "blocked", large))
        on_none.append(await _use(provider, skills, "blocked"))
    ratio = statistics.median(on_large) / statistics.median(on_none)
    size = f"{FILES * FILE_BYTES / 1024**3:.1f} GB in {FILES} files"
    bench.hold(f"opened on {size}, against on nothing", ratio, LARGE_BAR, "times")


def _bare_bwrap() -> float:
    """`bwrap` with the namespaces and the mounts of a sandbox, but for what is staged for it."""
    bare = [*_LAUNCHERS, *layout.bwrap_arguments()]
    for position in reversed(range(len(bare) - 2)):
        kind, source, target = bare[position : position + 3]
        if kind in _BINDS and source.startswith(f"{STAGE}/"):
            may_be_written = kind == "--bind"
            bare[position : position + 3] = ["--tmpfs", target] if may_be_written else []
    began = time.perf_counter()
    subprocess.run(
        [str(bwrap_path()), *bare, "--", "true"],
        check=True,
        env={},
        cwd="/",
        stdin=subprocess.DEVNULL,
    )
    return (time.perf_counter() - began) * 1000


async def _side_by_side(
    bench: Bench, provider: BubblewrapProvider, skills: Path, number: int
) -> None:
    began = time.perf_counter()
    each = await asyncio.gather(*(_use(provider, skills, "blocked") for _ in range(number)))
    wall = (time.perf_counter() - began) * 1000
    bench.show(
        f"{number} side by side (blocked), on {os.cpu_count()} cores",
        f"{wall:.0f} ms in all, p50 {statistics.median(each):.0f} ms",
    )


async def _three_tasks(bench: Bench, folder: Path) -> None:
    """A whole run; its model answers at once, so that what is left is ours and the sandbox's."""
    provider = BubblewrapProvider(folder / "state")
    try:
        runner = Runner(provider, folder)
        request = a_run(
            "offline",
            runner.store.add_skill(),
            tasks=tuple(a_task(f"t{number}") for number in (1, 2, 3)),
        )
        use_case = runner.use_case()
        await use_case(request)
        began = time.perf_counter()
        finished = await use_case(request)
        wall = time.perf_counter() - began
        assert isinstance(finished, RunFinished)
        assert finished.failure is None
        assert finished.timings is not None
        opened = await _use(provider, await _no_skills(folder), "blocked") / 1000
    finally:
        await provider.close()
    bench.show("a run of three tasks, instant model, wall time", f"{wall * 1000:.0f} ms")
    bench.show("of it, commands in the sandbox", f"{finished.timings.commands / wall:.0%}")
    bench.show("of it, having and deleting the sandbox", f"{opened / wall:.0%}")


async def _no_skills(folder: Path) -> Path:
    empty = folder / "no-skills"
    await asyncio.to_thread(empty.mkdir, exist_ok=True)
    return empty
