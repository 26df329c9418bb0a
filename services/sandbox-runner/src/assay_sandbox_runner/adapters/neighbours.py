"""The built-in skills that agents see beside the one under test."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def builtin_neighbours() -> Mapping[str, str]:
    """For each one's name, its SKILL.md; they have no other file."""
    folder = files("assay_sandbox_runner") / "neighbours"
    return {
        skill.name: (skill / "SKILL.md").read_text("utf-8")
        for skill in folder.iterdir()
        if skill.is_dir()
    }
