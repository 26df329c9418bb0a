"""Plans from what a SKILL.md documents: its commands, on inputs made for them."""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from assay_agentkit.matching import content_words
from assay_agentkit.rehearsal import Reply, ToolUse, Turn, file_text
from assay_agentkit.rehearse_commands import (
    KnownCommand,
    choose_command,
    given_inputs,
    known_commands,
    leading_to,
)
from assay_contracts.tasks import Check, CommandCheck, FileCheck, PatternCheck, Task
from assay_judge.domain.blindness import Secret
from assay_judge.domain.plan import PlannedTask, TaskPlan, plan_problems
from assay_judge.rehearsal.expectations import checks_for, is_silent, result_name
from assay_judge.rehearsal.inputs import file_name, input_files
from assay_judge.rehearsal.wording import Wording, aims, section_aims
from assay_skillkit.document import SkillDocument, parse_skill
from assay_skillkit.file_names import extension, is_text_file

LITTLE_CAN_BE_TOLD: Final = "Without a language model only this can be told:"
"""Opens the success criterion of a task for a skill that documents no command."""
_SKILL_MD: Final = "/skill/SKILL.md"
_WHOLE_FILE: Final = 5000
_MOST_SCRIPTS: Final = 6


@dataclass(frozen=True, slots=True)
class _Skill:
    document: SkillDocument
    secret: Secret
    scripts: Mapping[str, str]
    commands: tuple[KnownCommand, ...]
    wording: Wording

    def script_of(self, command: KnownCommand) -> str:
        return "\n".join(self.scripts.get(path, "") for path in command.shape.skill_files)


def plan_policy(turn: Turn) -> Reply:
    """Read SKILL.md, then the scripts its commands use, then answer with the plan."""
    brief = _brief(turn)
    main = turn.result_of("read_file", file_path=_SKILL_MD)
    if main is None:
        listing = ToolUse("ls", {"path": "/skill"})
        return Reply(calls=(listing, _read(_SKILL_MD)))
    document = parse_skill(file_text(main))
    commands = known_commands(document, skill_name=brief["skill_name"], skill_files=brief["files"])
    wanted = _scripts(commands, brief["files"])
    unread = [path for path in wanted if turn.result_of("read_file", file_path=path) is None]
    if unread:
        return Reply(calls=tuple(_read(path) for path in unread))
    scripts = {
        path.removeprefix("/skill/"): file_text(result)
        for path in wanted
        if (result := turn.result_of("read_file", file_path=path)) and result.status != "error"
    }
    skill = _skill(document, brief, scripts, commands)
    plan = make_plan(skill, brief["task_count"], known=brief["known_tasks"])
    return Reply(calls=(ToolUse(TaskPlan.__name__, plan.model_dump(mode="json")),))


def _brief(turn: Turn) -> dict[str, Any]:
    for message in turn.messages:
        match = re.search(r"<brief>(.*)</brief>", str(message.text), re.DOTALL)
        if match:
            brief: dict[str, Any] = json.loads(match.group(1))
            return brief
    raise ValueError("the request holds no brief")


def _skill(
    document: SkillDocument,
    brief: Mapping[str, Any],
    scripts: Mapping[str, str],
    commands: tuple[KnownCommand, ...],
) -> _Skill:
    secret = Secret(
        skill_name=brief["skill_name"],
        description=document.description,
        paths=tuple(brief["files"]),
    )
    leads = (f"{command.documented.heading} {command.documented.lead}" for command in commands)
    wording = Wording(
        description=document.description,
        backed=content_words("\n".join((document.prose, *leads, *scripts.values()))),
        secret=secret,
    )
    return _Skill(document, secret, scripts, commands, wording)


def _read(path: str) -> ToolUse:
    return ToolUse("read_file", {"file_path": path, "limit": _WHOLE_FILE})


def _scripts(commands: Sequence[KnownCommand], files: Sequence[str]) -> tuple[str, ...]:
    used = [path for command in commands for path in command.shape.skill_files if path in files]
    readable = [path for path in dict.fromkeys(used) if is_text_file(path)]
    return tuple(f"/skill/{path}" for path in readable[:_MOST_SCRIPTS])


def make_plan(skill: _Skill, task_count: int, *, known: Sequence[str]) -> TaskPlan:
    """As many different tasks as asked for, spread over the commands that can be tried.

    `known` are the prompts there are already: the data of each variant differs from theirs, or
    where a task has none, its words.
    """
    tasks: list[PlannedTask] = []
    there = [
        Task(task_id="t1", prompt=prompt, success_criterion="It is there already.")
        for prompt in known
    ]
    for variant in range(len(known), len(known) + task_count):
        fitting = (task for task in _candidates(skill, variant) if _fits(task, tasks, there, skill))
        # A plan with a fault is refused for its reason; a missing task would only be counted.
        fallback = _reading_tasks(skill, variant)[0]
        tasks.append(next(fitting, fallback))
    return TaskPlan(tasks=tuple(tasks))


def _candidates(skill: _Skill, variant: int) -> Iterator[PlannedTask]:
    runnable = [command for command in skill.commands if _can_be_tried(command, skill.commands)]
    first = variant % len(runnable) if runnable else 0
    for command in runnable[first:] + runnable[:first]:
        yield from _command_tasks(command, skill, variant)
    yield from _reading_tasks(skill, variant)


def _fits(
    task: PlannedTask, others: Sequence[PlannedTask], there: Sequence[Task], skill: _Skill
) -> bool:
    plan = TaskPlan(tasks=(*others, task))
    count = len(plan.tasks)
    return not plan_problems(plan, secret=skill.secret, task_count=count, known=there)


def _can_be_tried(command: KnownCommand, commands: Sequence[KnownCommand]) -> bool:
    return command.shape.is_work and all(map(is_text_file, given_inputs(command, commands)))


def _command_tasks(command: KnownCommand, skill: _Skill, variant: int) -> Iterator[PlannedTask]:
    """Tasks that an agent following the document carries out with this command."""
    names: dict[str, str] = {}
    for documented in given_inputs(command, skill.commands):
        names[documented] = file_name(
            extension(documented),
            variant,
            taken=tuple(names.values()),
            avoid=skill.secret.skill_name,
        )
    files = [
        file
        for documented, name in names.items()
        for file in input_files(
            name, documented, _all_text(command, skill), variant, skill.document.samples
        )
    ]
    silent = is_silent(command, skill.script_of(command))
    result = None if silent else result_name(command, variant)
    ending = f"Save the result in `{result}`." if result else "Leave it where it is."
    checks = checks_for(
        command.documented,
        result=result,
        inputs=files,
        exact=_shown(names, skill.document) and (variant == 0 or not names),
        prints=not command.shape.outputs,
    )
    given = " and ".join(f"`{file.path}`" for file in files) or "what is asked"
    where = f"`{result}` holds the result" if result else f"{given} was changed as asked"
    for aim in aims(command.documented, skill.document, skill.script_of(command), skill.secret):
        prompt = skill.wording.prompt(
            aim, inputs=tuple(names.values()), ending=ending, variant=variant
        )
        if choose_command(prompt, skill.commands) == command:
            yield PlannedTask(
                prompt=prompt,
                files=tuple(files),
                success_criterion=(
                    f"{where}, made from {given}: {aim}. Every command ended without error."
                ),
                checks=checks,
            )


def _shown(names: Mapping[str, str], document: SkillDocument) -> bool:
    """Whether the document shows the content of every file that the command is given."""
    samples = {posixpath.basename(sample.path) for sample in document.samples}
    return all(posixpath.basename(documented) in samples for documented in names)


def _all_text(command: KnownCommand, skill: _Skill) -> str:
    chain = (*leading_to(command, skill.commands), command)
    return " ".join(part.documented.command for part in chain)


def _reading_tasks(skill: _Skill, variant: int) -> tuple[PlannedTask, ...]:
    """Tasks for which an agent can do no more than read what the skill says and try its files."""
    found = list(section_aims(skill.document, skill.secret))
    notes = ("notes.txt", "findings.txt", "remarks.txt", "answers.txt", "lines.txt")[variant % 5]
    rotated = found[variant % len(found) :] + found[: variant % len(found)]
    checks: tuple[Check, ...] = (
        FileCheck(path=notes),
        PatternCheck(pattern=r"(?m)^(readable|parses): ", path=notes),
        CommandCheck(command=f"test $(wc -l < {notes}) -ge 1"),
    )
    return tuple(
        PlannedTask(
            prompt=skill.wording.prompt(
                aim, inputs=(), ending=f"Save what applies in `{notes}`.", variant=variant
            ),
            success_criterion=(
                f"{LITTLE_CAN_BE_TOLD} what the instructions point to is there, what can be run "
                "can be read by its interpreter, and an agent with this need looks here."
            ),
            checks=checks,
        )
        for aim in rotated
    )
