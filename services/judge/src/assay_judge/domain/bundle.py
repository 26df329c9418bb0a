"""A skill as its planner sees it."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay_contracts.skills import BundleRef
from assay_skillkit.bundle import BundleUnreadable, read_bundle
from assay_skillkit.file_names import SKILL_MD
from assay_skillkit.tree import SkillTree, read_start

LARGEST_TEXT_FILE = 256 * 1024
"""Bytes; of a longer file the planner sees only that it is there."""


@dataclass(frozen=True, slots=True)
class SkillFiles:
    """Paths are relative to the skill's folder."""

    name: str
    texts: Mapping[str, str]
    """Every file that is text and of a reasonable size."""
    paths: tuple[str, ...]
    """Every file, in order."""

    @property
    def skill_md(self) -> str:
        return self.texts[SKILL_MD]


def read_skill_files(data: bytes, *, ref: BundleRef, skill_name: str) -> SkillFiles:
    """Unpack the bundle of the skill of this name.

    Raises:
        BundleUnreadable: It is none, it is another skill's, or its SKILL.md is no text.
    """
    bundle = read_bundle(data, ref)
    texts = {
        path: text for path in bundle.files.sizes if (text := _text(bundle.files, path)) is not None
    }
    if bundle.name != skill_name or SKILL_MD not in texts:
        raise BundleUnreadable(f"Bundle {ref.key} has no readable {skill_name}/{SKILL_MD}.")
    return SkillFiles(name=skill_name, texts=texts, paths=tuple(sorted(bundle.files.sizes)))


def _text(files: SkillTree, path: str) -> str | None:
    if files.sizes[path] > LARGEST_TEXT_FILE:
        return None
    raw = read_start(files, path, LARGEST_TEXT_FILE)
    try:
        return None if b"\0" in raw else raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
