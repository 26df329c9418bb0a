"""What planners are shown of a skill at once; the rest they can read."""

from collections.abc import Iterator
from typing import Final

from assay_judge.domain.bundle import SkillFiles
from assay_skillkit.file_names import SKILL_MD

MOST_CHARS: Final = 60_000
"""Of all files that are shown."""
SKILL_ROOT: Final = "/skill"


def skill_material(skill: SkillFiles) -> dict[str, object]:
    """The skill's name, its files, and what the first of them say: SKILL.md, then the shortest."""
    shown = dict(_shown(skill))
    return {
        "skill_name": skill.name,
        "files": list(skill.paths),
        "texts": shown,
        "not_shown": [path for path in skill.paths if path not in shown],
    }


def readable_skill(skill: SkillFiles) -> dict[str, str]:
    """Every text of the skill by the absolute path under which it can be read."""
    return {f"{SKILL_ROOT}/{path}": text for path, text in skill.texts.items()}


def _shown(skill: SkillFiles) -> Iterator[tuple[str, str]]:
    room = MOST_CHARS
    for path in sorted(skill.texts, key=lambda path: (path != SKILL_MD, len(skill.texts[path]))):
        if len(skill.texts[path]) <= room:
            room -= len(skill.texts[path])
            yield path, skill.texts[path]
