"""Hiding from graders what a skill says of itself: its claims are no work done.

Only the skill's own words are hidden: the whole output of a step that does nothing but read a
skill's files, and elsewhere the passages that the runner found word for word in a file that the
step read. What programs print stays as it is.
"""

import json
import re
from typing import Final

from assay_contracts.runs import TraceStep

HIDDEN: Final = "[what the agent read in a skill's files is not part of the material]"

_OF_A_SKILL: Final = re.compile(r"(?:/workspace|\.\.)/skills/")
_READING_TOOLS: Final = frozenset({"read_file", "ls", "glob", "grep"})
_READERS: Final = frozenset(
    {"cat", "head", "tail", "less", "more", "nl", "sed", "awk", "grep", "rg", "strings"}
)
_SILENT: Final = frozenset({"true", "pwd", "echo", ":"})
_REDIRECTION: Final = re.compile(r"\d*>+\s*(?:&\d|\S+)")
_ONE_AFTER_ANOTHER: Final = re.compile(r"&&|\|\||;|\n")
_COMPUTED: Final = re.compile(r"\$\(|`|<<|<\(")


def without_skill_words(step: TraceStep) -> str:
    """What came of a step, but for what a skill says of itself."""
    if _only_reads_skills(step):
        return HIDDEN
    shown, behind = [], 0
    for start, end in step.skill_text:
        shown += [step.output[behind:start], HIDDEN]
        behind = end
    return "".join((*shown, step.output[behind:]))


def _only_reads_skills(step: TraceStep) -> bool:
    if not _OF_A_SKILL.search(step.arguments):
        return False
    if step.tool != "execute":
        return step.tool in _READING_TOOLS
    try:
        command = str(json.loads(step.arguments)["command"])
    except (ValueError, KeyError, TypeError):
        return False
    return _command_only_reads_skills(command)


def _command_only_reads_skills(command: str) -> bool:
    if _COMPUTED.search(command):
        return False
    inside = reads = False
    for part in _ONE_AFTER_ANOTHER.split(_REDIRECTION.sub("", command)):
        stages = [stage.split() for stage in part.split("|")]
        if not any(stages):
            continue
        if not all(stages):
            return False
        program, *given = stages[0]
        if program == "cd":
            inside = _OF_A_SKILL.search(f"{part} ".replace(" ", "/ ")) is not None
        elif program not in _SILENT:
            filters = {stage[0] for stage in stages}
            if not filters <= _READERS or not all(_is_of_skill(w, inside=inside) for w in given):
                return False
            reads = True
    return reads


def _is_of_skill(word: str, *, inside: bool) -> bool:
    """Whether the word is a file of a skill, or no file at all."""
    bare = word.strip("'\"")
    if bare.startswith("-") or not set(bare) & set("/.*"):
        return True
    if _OF_A_SKILL.search(bare):
        return True
    return inside and not bare.startswith(("/", "~", ".."))
