"""`assay validate` on a stack of its own: there for the validation, gone without trace after it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assay_contracts.reports import Report
from assay_testkit.processes import descendants, ended_after
from assay_testkit.servers import private_folder

EXAMPLE = Path(__file__).parents[2] / "examples/skills/csv-analyzer"
ASSAY = str(Path(sys.executable).parent / "assay")

pytestmark = pytest.mark.timeout(240)


def validating(temporary: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [ASSAY, "validate", str(EXAMPLE), *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(temporary), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_private_validation_cleans_up_after_itself() -> None:
    with private_folder() as temporary, validating(temporary, "--json") as process:
        output, progress = process.communicate()
        assert process.returncode == 0, progress
        assert Report.model_validate_json(output).verdict == "passed"
        assert "offline run: done in" in progress
        assert list(temporary.iterdir()) == []


def test_an_interrupted_validation_leaves_nothing_behind() -> None:
    with private_folder() as temporary, validating(temporary) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "online run" in line:
                break
        with ended_after(descendants(process.pid)[1:]):
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 128 + signal.SIGTERM
        assert list(temporary.iterdir()) == []


def test_the_logs_of_a_stack_that_could_not_start_are_kept() -> None:
    with private_folder() as temporary:
        environment = {"PATH": os.environ["PATH"], "TMPDIR": str(temporary)}
        done = subprocess.run(
            [ASSAY, "validate", str(EXAMPLE)],
            # No service starts with a log level that there is not.
            env={**environment, "ASSAY_LOG_LEVEL": "shouting"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 3
        (folder,) = temporary.iterdir()
        assert [path.name for path in folder.iterdir()] == ["logs"]
        assert f"The logs are in {folder / 'logs'}." in done.stderr
        assert "The private stack failed" in done.stderr
