"""Nobody reads what the command prints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["lint", "--help"],
        ["lint", "."],
        ["lint", ".", "--json"],
        ["config", "show"],
        ["doctor"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("errors_are_read", [True, False])
def test_a_reader_that_went_away_says_nothing_of_a_skill(
    skill: Path, words: list[str], errors_are_read: bool
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "assay_cli", *words],
            cwd=skill,
            env={"PATH": os.environ["PATH"], "HOME": str(skill)},
            text=True,
            check=False,
            stdout=writing,
            stderr=subprocess.PIPE if errors_are_read else writing,
        )
    finally:
        os.close(writing)
    assert done.returncode == 3
    if errors_are_read:
        assert done.stderr.startswith("assay: Whoever read the output went away")
        assert done.stderr.count("\n") == 1
