"""How the rehearsal model executes a task: the way a plain, honest agent would.

It picks a skill by its description, reads its instructions, runs the commands they document on the
task's files, and reports what came out. It has the same tools and sees the same prompt as an LLM.
"""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from langchain_core.messages import ToolMessage

from assay_rehearsal.conversation import (
    READ_LINES,
    Reply,
    ToolUse,
    Turn,
    exit_code,
    file_text,
    listed_paths,
    succeeded,
)
from assay_rehearsal.matching import best_match
from assay_rehearsal.task_commands import commands_for_task
from assay_skillkit.document import parse_skill

_LISTED: Final = re.compile(
    r"^- \*\*(?P<name>[^*\n]+)\*\*: (?P<description>.*?)\n(?:  -> Allowed tools: [^\n]*\n)?"
    r"  -> Read `(?P<path>[^`\n]+)` for full instructions$",
    re.MULTILINE | re.DOTALL,
)
_SKILLS_BEGIN: Final = "**Available Skills:**"
_SKILLS_END: Final = "**How to Use Skills"
_STATUS: Final = re.compile(r"\n\[Command (?:succeeded|failed) with exit code -?\d+\]\s*\Z")
_LONGEST_GIST: Final = 1500
_GIST_END: Final = 726
"""Characters that are kept of either end of a longer one, which leaves room to say so."""


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """A skill as the system prompt discloses it."""

    path: str
    """Of its SKILL.md."""
    description: str

    @property
    def root(self) -> str:
        return posixpath.dirname(self.path)


def executor_policy(turn: Turn) -> Reply:
    """The next reply of an executing agent."""
    skill = _best_fitting_skill(turn)
    if skill is None:
        return _without_skill(turn)
    manual = turn.result_of("read_file", file_path=skill.path)
    if manual is None:
        return Reply(
            calls=(
                ToolUse("read_file", {"file_path": skill.path, "limit": READ_LINES}),
                ToolUse("glob", {"pattern": "*", "path": skill.root}),
            )
        )
    if not succeeded(manual):
        return Reply(f"Could not do it: the instructions at {skill.path} cannot be read.")
    return _follow(turn, skill, file_text(manual))


def listed_skills(system_prompt: str) -> tuple[ListedSkill, ...]:
    """The skills that deepagents put into the prompt, in its order."""
    _, _, section = system_prompt.partition(_SKILLS_BEGIN)
    section, _, _ = section.partition(_SKILLS_END)
    return tuple(
        ListedSkill(path=match["path"], description=f"{match['name']}: {match['description']}")
        for match in _LISTED.finditer(section)
    )


def _best_fitting_skill(turn: Turn) -> ListedSkill | None:
    skills = {skill.path: skill for skill in listed_skills(turn.system)}
    best = best_match(turn.request, {path: skill.description for path, skill in skills.items()})
    return None if best is None else skills[best]


def _without_skill(turn: Turn) -> Reply:
    if turn.result_of("execute") is None:
        return Reply(calls=(ToolUse("execute", {"command": "ls -AF"}),))
    return Reply("Could not do it: none of the listed skills fits this task.")


def _follow(turn: Turn, skill: ListedSkill, manual: str) -> Reply:
    commands = commands_for_task(
        turn.request,
        parse_skill(manual),
        skill_root=skill.root,
        skill_files=_files_below(skill.root, turn.result_of("glob", path=skill.root)),
    )
    results = [result for result in turn.results if result.name == "execute"]
    if commands and not results:
        # In one turn: they are carried out one after another, whatever comes of each.
        return Reply(calls=tuple(ToolUse("execute", {"command": each}) for each in commands))
    return Reply(_answer(commands, results))


def _files_below(root: str, listing: ToolMessage | None) -> tuple[str, ...]:
    if listing is None or not succeeded(listing):
        return ()
    paths = listed_paths(listing)
    return tuple(posixpath.relpath(path, root) for path in paths if path.startswith(f"{root}/"))


def _answer(commands: Sequence[str], results: Sequence[ToolMessage]) -> str:
    if not commands:
        return "Read the instructions; they document nothing that could be run for this task."
    last = results[-1]
    gist = _gist(_STATUS.sub("", str(last.text)).strip())
    if succeeded(last):
        return f"Done with `{commands[-1]}`. It printed:\n{gist}"
    return f"Could not do it: `{commands[-1]}` ended with exit code {exit_code(last)}:\n{gist}"


def _gist(output: str) -> str:
    if len(output) <= _LONGEST_GIST:
        return output
    left_out = f"\n[... {len(output) - 2 * _GIST_END} characters left out ...]\n"
    return output[:_GIST_END] + left_out + output[-_GIST_END:]
