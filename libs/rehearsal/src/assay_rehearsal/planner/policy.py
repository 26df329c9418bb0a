"""What the planner says in each turn: read the skill, then answer with the plan."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from pydantic import BaseModel, ConfigDict

from assay_rehearsal.conversation import Policy, Reply, ToolUse, Turn, file_text
from assay_rehearsal.planner.rules import RulesFor
from assay_rehearsal.planner.tasks import SkillToPlanFor, make_plan
from assay_rehearsal.planner.wording import Wording
from assay_rehearsal.task_commands import KnownCommand, known_commands
from assay_skillkit.document import SkillDocument, parse_skill
from assay_skillkit.file_names import is_text_file
from assay_skillkit.words import content_words

ANSWER_TOOL: Final = "TaskPlan"
"""The tool that the judge's planner answers with."""
_SKILL_ROOT: Final = "/skill"
_SKILL_MD: Final = f"{_SKILL_ROOT}/SKILL.md"
_WHOLE_FILE: Final = 5000
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
    commands = known_commands(document, skill_name=brief.skill_name, skill_files=brief.files)
    wanted = _scripts(commands, brief.files)
    unread = [path for path in wanted if turn.result_of("read_file", file_path=path) is None]
    if unread:
        return Reply(calls=tuple(_read(path) for path in unread))
    scripts = {
        path.removeprefix(f"{_SKILL_ROOT}/"): file_text(result)
        for path in wanted
        if (result := turn.result_of("read_file", file_path=path)) and result.status != "error"
    }
    skill = _skill(document, brief, scripts, commands, rules_for)
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
    commands: tuple[KnownCommand, ...],
    rules_for: RulesFor,
) -> SkillToPlanFor:
    rules = rules_for(
        skill_name=brief.skill_name, description=document.description, paths=brief.files
    )
    leads = (f"{command.documented.heading} {command.documented.lead}" for command in commands)
    wording = Wording(
        description=document.description,
        backed=content_words("\n".join((document.prose, *leads, *scripts.values()))),
        rules=rules,
    )
    return SkillToPlanFor(
        name=brief.skill_name,
        document=document,
        rules=rules,
        scripts=scripts,
        commands=commands,
        wording=wording,
    )


def _read(path: str) -> ToolUse:
    return ToolUse("read_file", {"file_path": path, "limit": _WHOLE_FILE})


def _scripts(commands: Sequence[KnownCommand], files: Sequence[str]) -> tuple[str, ...]:
    used = [path for command in commands for path in command.shape.skill_files if path in files]
    readable = [path for path in dict.fromkeys(used) if is_text_file(path)]
    return tuple(f"{_SKILL_ROOT}/{path}" for path in readable[:_MOST_SCRIPTS])
