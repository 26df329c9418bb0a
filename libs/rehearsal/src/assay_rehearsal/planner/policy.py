"""What the planner says in each turn: read the skill, then answer with the plan."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from pydantic import BaseModel, ConfigDict

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

ANSWER_TOOL: Final = "TaskPlan"
"""The tool that the judge's planner answers with."""
_SKILL_ROOT: Final = "/skill"
_SKILL_MD: Final = f"{_SKILL_ROOT}/SKILL.md"
_MOST_SCRIPTS: Final = 6


class _Brief(BaseModel):
    """What the request says as JSON."""

    model_config = ConfigDict(frozen=True)

    skill_name: str
    task_count: int
    files: tuple[str, ...]
    known_tasks: tuple[str, ...]
    """Their prompts."""


def planner_policy(rules_for: RulesFor) -> Policy:
    """The planner that proposes only what these rules accept, as far as it can."""
    return partial(_next_reply, rules_for)


def _next_reply(rules_for: RulesFor, turn: Turn) -> Reply:
    """Read SKILL.md, then the scripts its commands use, then answer with the plan."""
    brief = _brief(turn)
    main = turn.result_of("read_file", file_path=_SKILL_MD)
    if main is None:
        listing = ToolUse("ls", {"path": _SKILL_ROOT})
        return Reply(calls=(listing, _read(_SKILL_MD)))
    document = parse_skill(file_text(main))
    items = read_items(document, skill_name=brief.skill_name, skill_files=brief.files)
    wanted = _scripts(items, brief.files)
    unread = [path for path in wanted if turn.result_of("read_file", file_path=path) is None]
    if unread:
        return Reply(calls=tuple(_read(path) for path in unread))
    scripts = {
        path.removeprefix(f"{_SKILL_ROOT}/"): file_text(result)
        for path in wanted
        if (result := turn.result_of("read_file", file_path=path)) and result.status != "error"
    }
    skill = _skill(document, brief, scripts, items, rules_for)
    tasks = make_plan(skill, brief.task_count, known=brief.known_tasks)
    plan = [task.model_dump(mode="json", exclude={"task_id"}) for task in tasks]
    return Reply(calls=(ToolUse(ANSWER_TOOL, {"tasks": plan}),))


def _brief(turn: Turn) -> _Brief:
    for message in turn.messages:
        match = re.search(r"<brief>(.*)</brief>", str(message.text), re.DOTALL)
        if match:
            return _Brief.model_validate_json(match.group(1))
    raise ValueError("the request holds no brief")


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
    return ToolUse("read_file", {"file_path": path, "limit": READ_LINES})


def _scripts(items: Sequence[DocumentedItem], files: Sequence[str]) -> tuple[str, ...]:
    there = frozenset(files)
    used = [path for item in items if item.shape for path in item.shape.skill_files]
    readable = [path for path in dict.fromkeys(used) if path in there and is_text_file(path)]
    return tuple(f"{_SKILL_ROOT}/{path}" for path in readable[:_MOST_SCRIPTS])
