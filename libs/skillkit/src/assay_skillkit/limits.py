from dataclasses import dataclass
from typing import Final

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much an upload may hold. Sizes in bytes; MB means 2^20 bytes."""

    packed: int = 50 * MIB
    files: int = 500
    entries: int = 2_000
    """Counts folders and what the operating system left behind too."""
    index: int = 2 * MIB
    """The archive's table of contents."""
    one_file: int = 50 * MIB
    unpacked: int = 200 * MIB
    ratio: int = 100
    ratio_from: int = MIB
    """Below this size a ratio says nothing: a short file of zeros packs to almost no bytes."""
    depth: int = 16
    path: int = 240
    segment_bytes: int = 255
    skill_md: int = MIB
    frontmatter: int = 64 * 1024
    small_file: int = MIB
    """Most that is read of any one file beside SKILL.md to look into it."""
    source: int = 8 * MIB
    """Most that is read of all Python files together to see what they import."""
    documents: int = 2 * MIB
    """Most that is read of all documents and scripts together to see what they install."""
    nested_entries: int = 20_000
    """Most that the archives inside the archive may list in all."""


LIMITS: Final = Limits()
