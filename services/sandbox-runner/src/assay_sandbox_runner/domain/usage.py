"""Which skills a task used, read from what the agent did and never from what it says. Pure."""

import json
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from assay_contracts.runs import SkillUse, TraceStep, UseKind
from assay_sandbox_runner.domain.text import clip
from assay_skillkit.shell.paths import PathUse, paths_used

SkillFiles = Mapping[str, Collection[str]]
"""For each skill's folder name, its files relative to that folder."""

_EVIDENCE_CHARS: Final = 300
_SURVEY: Final = 3
"""So many different SKILL.md in one command are a look around, not a choice."""
_LOOKERS: Final = frozenset(
    {"ls", "find", "tree", "stat", "wc", "du", "test", "[", "[[", "file", "realpath", "readlink"}
    | {"grep", "rg", "egrep", "fgrep", "dirname", "basename", "which", "type", "echo", "printf"}
    | {"mkdir", "touch", "rm", "rmdir", "chmod", "chown", ":", "true", "case"}
)
"""Programs that look at or name a path without taking in what it holds."""
_READERS: Final = frozenset(
    {"cat", "head", "tail", "less", "more", "bat", "sed", "awk", "nl", "cut", "sort", "uniq"}
    | {"diff", "cmp", "cp", "mv", "rsync", "tar", "zip", "install", "tee", "xxd", "od", "strings"}
    | {"jq", "yq", "md5sum", "sha256sum", "pandoc"}
)
_REFUSED: Final = (
    r"['\"]?: (?:\[Errno \d+\] )?"
    r"(?:Permission denied|Is a directory|cannot execute|not found|No such file or directory)"
)
"""How shells and interpreters end the line that names a path they could not use."""


def skills_used(
    steps: Sequence[TraceStep], skills: SkillFiles, *, root: str, folder: str
) -> tuple[SkillUse, ...]:
    """The first use of each kind of each skill, in the order of the steps.

    A use is a successful read of a file of the skill, or a command that ran or read one. A failed
    read is none, nor is a listing, nor a sweep over several skills.

    Args:
        steps: The task's tool calls.
        skills: What was mounted.
        root: Folder that holds the skills' folders.
        folder: Where commands ran.
    """
    first_uses: dict[tuple[str, UseKind], SkillUse] = {}
    for index, step in enumerate(steps):
        for skill, kind in _uses(step, skills, root, folder):
            first_uses.setdefault(
                (skill, kind),
                SkillUse(skill=skill, kind=kind, evidence=_evidence(step), step=index),
            )
    return tuple(first_uses.values())


def _uses(
    step: TraceStep, skills: SkillFiles, root: str, folder: str
) -> Iterator[tuple[str, UseKind]]:
    if step.failed:
        return
    arguments = _arguments(step)
    if step.tool == "read_file":
        path = posixpath.normpath(posixpath.join("/", arguments.get("file_path", "")))
        yield from ((skill, "read") for skill, file in _below(path, skills, root) if file)
    elif step.tool == "execute":
        yield from _uses_of_command(step, arguments.get("command", ""), skills, root, folder)


def _uses_of_command(
    step: TraceStep, command: str, skills: SkillFiles, root: str, folder: str
) -> Iterator[tuple[str, UseKind]]:
    manuals: set[str] = set()
    found: list[tuple[str, UseKind, bool]] = []
    for use in paths_used(command, folder):
        hits = _below(use.path, skills, root)
        touched = {skill for skill, _ in hits}
        if use.program in _LOOKERS or len(touched) != 1 or _was_refused(use.path, step.output):
            continue
        is_manual = all(file == "SKILL.md" for _, file in hits)
        manuals |= touched if is_manual else set()
        found += [(skill, _kind_of(use), is_manual) for skill in touched]
    for skill, kind, is_manual in found:
        if not is_manual or len(manuals) < _SURVEY:
            yield skill, kind


def _kind_of(use: PathUse) -> UseKind:
    return "read" if use.program in _READERS and not use.is_program else "run"


def _below(path: str, skills: SkillFiles, root: str) -> list[tuple[str, str]]:
    """Each `(skill, file)` that the path or glob stands for; `file` is empty for a folder."""
    if not path.startswith(f"{root}/"):
        return []
    head, _, rest = path[len(root) + 1 :].partition("/")
    if not head.strip("*?"):
        return []  # whatever skills there are: a look around even where there is but one
    return [
        (skill, file)
        for skill in sorted(skills)
        if fnmatchcase(skill, head)
        for file in _matching(rest, skills[skill])
    ]


def _matching(wanted: str, files: Collection[str]) -> list[str]:
    if not wanted or any(file.startswith(f"{wanted}/") for file in files):
        return [""]
    return [file for file in files if fnmatchcase(file, wanted)]


def _was_refused(path: str, output: str) -> bool:
    """Whether the output complains that this very path could not be opened or run."""
    name = re.escape(posixpath.basename(path))
    return re.search(rf"(?<![\w-]){name}{_REFUSED}", output) is not None


def _arguments(step: TraceStep) -> dict[str, str]:
    try:
        values = json.loads(step.arguments)
    except ValueError:
        return {}
    if not isinstance(values, dict):
        return {}
    return {str(key): value for key, value in values.items() if isinstance(value, str)}


def _evidence(step: TraceStep) -> str:
    arguments = _arguments(step)
    shown = arguments.get("command") or arguments.get("file_path") or step.arguments
    return clip(f"{step.tool}: {shown}", _EVIDENCE_CHARS).text
