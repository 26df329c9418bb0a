"""`assay lint` on many folders in one call, against the reference validator called for each."""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.report import Bench

FOLDERS = 180
REFERENCE_CALLS = 12
"""Of the reference: enough to know what one takes."""

_BIN = Path(sys.executable).parent
_EXAMPLES = sorted(Path(__file__).parents[1].glob("examples/skills/*/"))


async def run(bench: Bench) -> None:
    """180 folders: at most a quarter of the time of 180 calls of `agentskills validate`."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        skills = [
            _copy(_EXAMPLES[n % len(_EXAMPLES)], Path(folder, str(n))) for n in range(FOLDERS)
        ]
        ours = _seconds([_BIN / "assay", "lint", *skills])
        reference = sum(
            _seconds([_BIN / "agentskills", "validate", s]) for s in skills[:REFERENCE_CALLS]
        )
    theirs = reference * FOLDERS / REFERENCE_CALLS
    bench.show(f"assay lint, {FOLDERS} folders in one call", f"{ours:.2f} s")
    bench.show(f"agentskills validate, {FOLDERS} calls", f"{theirs:.2f} s")
    bench.hold("assay lint, times agentskills validate", ours / theirs, 0.25, "x")


def _copy(skill: Path, target: Path) -> Path:
    return Path(shutil.copytree(skill, target / skill.name))


def _seconds(command: list[str | Path]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began
