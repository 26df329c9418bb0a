"""What the planner says in each turn: the plan in outline, then each task of it."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Final

from pydantic import BaseModel, ConfigDict

from assay_contracts.tasks import Task
from assay_rehearsal.conversation import (
    READ_LINES,
    Policy,
    Reply,
    ToolUse,
    Turn,
    file_text,
)
from assay_rehearsal.exercises import read_items
from assay_rehearsal.planner.rules import RulesFor
from assay_rehearsal.planner.tasks import SkillToPlanFor, make_plan
from assay_rehearsal.planner.wording import Wording
from assay_skillkit.document import SkillDocument, parse_skill
from assay_skillkit.documented_items import DocumentedItem
from assay_skillkit.file_names import is_text_file
from assay_skillkit.words import content_words

OUTLINES_TOOL: Final = "TaskOutlines"
"""The tool that the judge's main agent answers with."""
TASK_TOOL: Final = "TaskDraft"
"""The tool that the agent answers with that prepares one task."""
_SKILL_ROOT: Final = "/skill"
_SKILL_MD: Final = "SKILL.md"
_MOST_SCRIPTS: Final = 6
_LONGEST_NEED: Final = 2000


class _Brief(BaseModel):
    """What the request says of the skill."""

    model_config = ConfigDict(frozen=True)

    skill_name: str
    task_count: int
    files: tuple[str, ...]
    texts: dict[str, str]
    """What some of the files say."""
    known_tasks: tuple[str, ...]
    """Their prompts."""


class _Assignment(BaseModel):
    """Which task is to be prepared, counted from 1."""

    number: int


def planner_policy(rules_for: RulesFor) -> Policy:
    """The planner that proposes only what these rules accept, as far as it can."""
    return partial(_next_reply, rules_for)


def _next_reply(rules_for: RulesFor, turn: Turn) -> Reply:
    """Read what the request does not show, then answer: the plan in outline, or one task of it."""
    brief = _Brief.model_validate(turn.fenced_data())
    manual = _text_of(_SKILL_MD, brief, turn)
    if manual is None:
        return Reply(calls=(_read(_SKILL_MD),))
    document = parse_skill(manual)
    items = read_items(document, skill_name=brief.skill_name, skill_files=brief.files)
    texts = {path: _text_of(path, brief, turn) for path in _scripts(items, brief.files)}
    unread = [path for path, text in texts.items() if text is None]
    if unread:
        return Reply(calls=tuple(_read(path) for path in unread))
    scripts = {path: text for path, text in texts.items() if text}
    tasks = _plan(rules_for, brief.model_dump_json(), tuple(scripts.items()), manual)
    if TASK_TOOL in turn.tools:
        task = tasks[_assignment(turn).number - 1]
        draft = task.model_dump(mode="json", include={"prompt", "success_criterion", "checks"})
        files = [file.model_dump(mode="json") for file in task.files]
        return Reply(calls=(ToolUse(TASK_TOOL, {**draft, "files": files, "reference": None}),))
    outlines = [{"need": task.prompt[:_LONGEST_NEED]} for task in tasks]
    return Reply(calls=(ToolUse(OUTLINES_TOOL, {"outlines": outlines, "near_misses": []}),))


# Every agent that takes part in a plan needs all of it.
@lru_cache(maxsize=16)
def _plan(
    rules_for: RulesFor, brief_json: str, scripts: tuple[tuple[str, str], ...], manual: str
) -> tuple[Task, ...]:
    brief, document = _Brief.model_validate_json(brief_json), parse_skill(manual)
    items = read_items(document, skill_name=brief.skill_name, skill_files=brief.files)
    skill = _skill(document, brief, dict(scripts), items, rules_for)
    return make_plan(skill, brief.task_count, known=brief.known_tasks)


def _text_of(path: str, brief: _Brief, turn: Turn) -> str | None:
    """What the file says; none where it has to be read first, nothing where it cannot be."""
    if path in brief.texts:
        return brief.texts[path]
    result = turn.result_of("read_file", file_path=f"{_SKILL_ROOT}/{path}")
    if result is None:
        return None
    return "" if result.status == "error" else file_text(result)


def _assignment(turn: Turn) -> _Assignment:
    for message in turn.messages:
        match = re.search(r"<assignment>(.*)</assignment>", str(message.text), re.DOTALL)
        if match:
            return _Assignment.model_validate_json(match.group(1))
    raise ValueError("the request holds no assignment")


def _skill(
    document: SkillDocument,
    brief: _Brief,
    scripts: Mapping[str, str],
    items: tuple[DocumentedItem, ...],
    rules_for: RulesFor,
) -> SkillToPlanFor:
    rules = rules_for(
        skill_name=brief.skill_name, description=document.description, paths=brief.files
    )
    sources = (item.command or item.code for item in items)
    leads = (f"{source.heading} {source.lead}" for source in sources if source)
    wording = Wording(
        skill_name=brief.skill_name,
        description=document.description,
        backed=content_words("\n".join((document.prose, *leads, *scripts.values()))),
        rules=rules,
    )
    return SkillToPlanFor(
        name=brief.skill_name,
        document=document,
        rules=rules,
        scripts=scripts,
        items=items,
        wording=wording,
    )


def _read(path: str) -> ToolUse:
    return ToolUse("read_file", {"file_path": f"{_SKILL_ROOT}/{path}", "limit": READ_LINES})


def _scripts(items: Sequence[DocumentedItem], files: Sequence[str]) -> tuple[str, ...]:
    there = frozenset(files)
    used = [path for item in items if item.shape for path in item.shape.skill_files]
    readable = [path for path in dict.fromkeys(used) if path in there and is_text_file(path)]
    return tuple(readable[:_MOST_SCRIPTS])
