"""A skill's files, wherever they lie."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol


class Tree(Protocol):
    """Plain files by their path: relative, `/` between parts, in composed Unicode."""

    @property
    def sizes(self) -> Mapping[str, int]: ...

    def chunks(self, path: str) -> Iterator[bytes]:
        """The bytes of one file, in pieces of bounded size."""
        ...


def read_start(tree: Tree, path: str, limit: int) -> bytes:
    """The first `limit` bytes of a file, or all of it when it is shorter."""
    parts: list[bytes] = []
    length = 0
    for chunk in tree.chunks(path):
        parts.append(chunk)
        length += len(chunk)
        if length >= limit:
            break
    return b"".join(parts)[:limit]


@dataclass(frozen=True, slots=True)
class SkillTree:
    """The files of one skill, relative to its root. The file of instructions is `SKILL.md`."""

    source: Tree
    source_paths: Mapping[str, str]
    """Where each of the skill's files lies in `source`."""
    sizes: Mapping[str, int]

    def chunks(self, path: str) -> Iterator[bytes]:
        return self.source.chunks(self.source_paths[path])
