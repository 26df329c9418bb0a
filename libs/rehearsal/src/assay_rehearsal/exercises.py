"""What a skill documents, cut into exercises: each is what one task has tried. Pure.

An exercise is a stretch of the document with everything it builds on. The planner writes a task for
each; the executor finds the exercise that a task means by its words and files, and runs it.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final

from assay_skillkit.document import SkillDocument
from assay_skillkit.documented_items import DocumentedItem, documented_items, is_system_install
from assay_skillkit.words import content_words

MOST_EXERCISES: Final = 3
FEW: Final = 8
"""So many items are tried in one exercise, whatever sections they stand in: they may build on each
other in ways that nothing tells."""
MOST_IN_EXERCISE: Final = 12
RESULTS: Final = ("result", "outcome", "finding", "answer", "overview")
"""What printed results are kept under, with a number behind it."""
_NUMBERED: Final = re.compile(rf"(?:{'|'.join(RESULTS)})-(\d+)\.txt")
_PREPARES: Final = frozenset({"cp", "mkdir", "mv", "touch", "export", "cd"})


@dataclass(frozen=True)
class Exercise:
    items: tuple[DocumentedItem, ...]
    """In the document's order: what is tried, what prepares it, what it needs installed."""

    @cached_property
    def tried(self) -> tuple[DocumentedItem, ...]:
        return tuple(item for item in self.items if item.is_to_be_tried)

    @cached_property
    def given(self) -> tuple[str, ...]:
        """Documented names of the files that must be there before it begins."""
        made: set[str] = set()
        wanted: dict[str, None] = {}
        for item in self.items:
            for name in item.inputs:
                if name not in made and item.is_to_be_tried:
                    wanted.setdefault(name)
            made.update(item.outputs)
        return tuple(wanted)

    @cached_property
    def made(self) -> tuple[str, ...]:
        """Documented names of the files that what is tried makes."""
        names = (name for item in self.tried for name in item.outputs)
        return tuple(dict.fromkeys(name for name in names if name not in self.given))

    @cached_property
    def words(self) -> frozenset[str]:
        """What it is about."""
        return content_words(" ".join(map(_surroundings, self.tried)))

    @property
    def uses_git(self) -> bool:
        return any(item.program == "git" for item in self.tried)


def read_items(
    document: SkillDocument, *, skill_name: str, skill_files: Collection[str]
) -> tuple[DocumentedItem, ...]:
    """What the skill documents; planner and executor read it alike."""
    return documented_items(document, skill_name=skill_name, files=skill_files)


def exercises_of(items: Sequence[DocumentedItem]) -> tuple[Exercise, ...]:
    """Up to three exercises that together try as much of the document as time allows."""
    running = [item for item in items if item.is_to_be_tried or _prepares(item)]
    setup = tuple(item for item in items if _installs(item))
    tried = [item for item in running if item.is_to_be_tried]
    if not tried:
        return ()
    parts = [running] if len(tried) <= FEW else list(_parts(running, len(tried)))
    return tuple(Exercise((*setup, *_with_makers(part, running))) for part in parts)


def exercise_for(
    exercises: Sequence[Exercise], prompt: str, files: Collection[str]
) -> Exercise | None:
    """The exercise that the prompt means.

    Results that are wanted in a file of a number are those of the exercise of that number; else the
    files that are named tell, and then the words.
    """
    if not exercises:
        return None
    for name in files:
        if numbered := _NUMBERED.fullmatch(name):
            return exercises[(int(numbered[1]) - 1) % len(exercises)]
    wanted = content_words(prompt)
    return max(
        exercises,
        key=lambda each: (len(set(files) & {*each.given, *each.made}), len(wanted & each.words)),
    )


def _surroundings(item: DocumentedItem) -> str:
    source = item.command or item.code
    assert source is not None, "what is tried was documented as a command or as code"
    return f"{source.heading} {source.lead} {item.what}"


def _installs(item: DocumentedItem) -> bool:
    is_setup = item.shape is not None and item.shape.is_setup
    shown_as_bad = item.command is not None and item.command.is_bad_example
    return is_setup and not shown_as_bad and not is_system_install(item)


def _prepares(item: DocumentedItem) -> bool:
    """Whether it copies, makes or sets something that what comes after may need."""
    if item.shape is None or item.command is None or item.command.is_bad_example:
        return False
    if item.shape.purpose != "looks" or item.shape.values or item.shape.secret:
        return False
    return bool(item.shape.outputs) or item.program in _PREPARES


def _parts(running: Sequence[DocumentedItem], tried: int) -> Iterator[list[DocumentedItem]]:
    """Whole sections, joined until each part has its share of what is tried."""
    share = -(-tried // MOST_EXERCISES)
    part: list[DocumentedItem] = []
    parts = 0
    for _, section in groupby(running, key=_heading):
        part += section
        enough = sum(item.is_to_be_tried for item in part) >= share
        if enough and parts < MOST_EXERCISES - 1:
            yield _bounded(part)
            part, parts = [], parts + 1
    if any(item.is_to_be_tried for item in part):
        yield _bounded(part)


def _bounded(part: Sequence[DocumentedItem]) -> list[DocumentedItem]:
    kept: list[DocumentedItem] = []
    tried = 0
    for item in part:
        tried += item.is_to_be_tried
        if tried > MOST_IN_EXERCISE:
            break
        kept.append(item)
    return kept


def _heading(item: DocumentedItem) -> str:
    source = item.command or item.code
    return source.heading if source else ""


def _with_makers(
    part: Sequence[DocumentedItem], running: Sequence[DocumentedItem]
) -> tuple[DocumentedItem, ...]:
    """The part behind those earlier items that make what it is given."""
    makers = {name: item for item in reversed(running) for name in item.outputs}
    order = {id(item): place for place, item in enumerate(running)}
    chosen = {id(item): item for item in part}
    open_items = list(part)
    while open_items:
        item = open_items.pop()
        for name in item.inputs:
            maker = makers.get(name)
            if maker and id(maker) not in chosen and order[id(maker)] < order[id(item)]:
                chosen[id(maker)] = maker
                open_items.append(maker)
    return tuple(sorted(chosen.values(), key=lambda item: order[id(item)]))
