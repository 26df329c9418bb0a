"""Tasks from what a SKILL.md documents: its commands, on inputs made for them."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.tasks import Check, CommandCheck, FileCheck, PatternCheck, Task
from assay_rehearsal.planner.checks import checks_for, is_silent, result_name
from assay_rehearsal.planner.inputs import file_name, input_files
from assay_rehearsal.planner.rules import PlanRules
from assay_rehearsal.planner.wording import Wording, aims, section_aims
from assay_rehearsal.task_commands import (
    KnownCommand,
    choose_command,
    given_inputs,
    leading_to,
)
from assay_skillkit.document import SkillDocument
from assay_skillkit.file_names import extension, is_text_file

NO_COMMAND_CRITERION: Final = "Without a language model only this can be told:"
"""Opens the success criterion of a task for a skill that documents no command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillToPlanFor:
    """A skill with all that was read of it."""

    name: str
    document: SkillDocument
    rules: PlanRules
    scripts: Mapping[str, str]
    """Content by path relative to the skill's folder."""
    commands: tuple[KnownCommand, ...]
    wording: Wording

    def script_of(self, command: KnownCommand) -> str:
        return "\n".join(self.scripts.get(path, "") for path in command.shape.skill_files)


def make_plan(skill: SkillToPlanFor, task_count: int, *, known: Sequence[str]) -> tuple[Task, ...]:
    """As many different tasks as asked for, spread over the commands that can be tried.

    `known` are the prompts there are already: the data of each variant differs from theirs, or
    where a task has none, its words.
    """
    tasks: list[Task] = []
    there = [
        Task(task_id=f"t{number}", prompt=prompt, success_criterion="It is there already.")
        for number, prompt in enumerate(known, start=1)
    ]
    for variant in range(len(known), len(known) + task_count):
        accepted = (
            task
            for task in _possible_tasks(skill, variant)
            if not skill.rules.problems([*tasks, task], task_count=len(tasks) + 1, known=there)
        )
        # A plan with a fault is refused for its reason; a missing task would only be counted.
        fallback = _reading_tasks(skill, variant)[0]
        tasks.append(next(accepted, fallback))
    return tuple(tasks)


def _possible_tasks(skill: SkillToPlanFor, variant: int) -> Iterator[Task]:
    runnable = [command for command in skill.commands if _can_be_tried(command, skill.commands)]
    first = variant % len(runnable) if runnable else 0
    for command in runnable[first:] + runnable[:first]:
        yield from _command_tasks(command, skill, variant)
    yield from _reading_tasks(skill, variant)


def _can_be_tried(command: KnownCommand, commands: Sequence[KnownCommand]) -> bool:
    return command.shape.is_work and all(map(is_text_file, given_inputs(command, commands)))


def _command_tasks(command: KnownCommand, skill: SkillToPlanFor, variant: int) -> Iterator[Task]:
    """Tasks that an agent following the document carries out with this command."""
    names = _names_of_inputs(command, skill, variant)
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
        exact=_all_shown(names, skill.document) and (variant == 0 or not names),
        prints=not command.shape.outputs,
    )
    given = " and ".join(f"`{file.path}`" for file in files) or "what is asked"
    where = f"`{result}` holds the result" if result else f"{given} was changed as asked"
    for aim in aims(command.documented, skill.document, skill.script_of(command), skill.rules):
        prompt = skill.wording.prompt(
            aim, inputs=tuple(names.values()), ending=ending, variant=variant
        )
        if choose_command(prompt, skill.commands) == command:
            yield Task(
                task_id=_task_id(variant),
                prompt=prompt,
                files=tuple(files),
                success_criterion=(
                    f"{where}, made from {given}: {aim}. Every command ended without error."
                ),
                checks=checks,
            )


def _names_of_inputs(command: KnownCommand, skill: SkillToPlanFor, variant: int) -> dict[str, str]:
    """For each documented input of the command, what the task calls it."""
    names: dict[str, str] = {}
    for documented in given_inputs(command, skill.commands):
        names[documented] = file_name(
            extension(documented), variant, taken=tuple(names.values()), avoid=skill.name
        )
    return names


def _all_shown(names: Mapping[str, str], document: SkillDocument) -> bool:
    """Whether the document shows the content of every file that the command is given."""
    samples = {posixpath.basename(sample.path) for sample in document.samples}
    return all(posixpath.basename(documented) in samples for documented in names)


def _all_text(command: KnownCommand, skill: SkillToPlanFor) -> str:
    chain = (*leading_to(command, skill.commands), command)
    return " ".join(part.documented.command for part in chain)


def _reading_tasks(skill: SkillToPlanFor, variant: int) -> tuple[Task, ...]:
    """Tasks for which an agent can do no more than read what the skill says and try its files."""
    found = list(section_aims(skill.document, skill.rules))
    notes = ("notes.txt", "findings.txt", "remarks.txt", "answers.txt", "lines.txt")[variant % 5]
    rotated = found[variant % len(found) :] + found[: variant % len(found)]
    checks: tuple[Check, ...] = (
        FileCheck(path=notes),
        PatternCheck(pattern=r"(?m)^(readable|parses): ", path=notes),
        CommandCheck(command=f"test $(wc -l < {notes}) -ge 1"),
    )
    return tuple(
        Task(
            task_id=_task_id(variant),
            prompt=skill.wording.prompt(
                aim, inputs=(), ending=f"Save what applies in `{notes}`.", variant=variant
            ),
            success_criterion=(
                f"{NO_COMMAND_CRITERION} what the instructions point to is there, what can be run "
                "can be read by its interpreter, and an agent with this need looks here."
            ),
            checks=checks,
        )
        for aim in rotated
    )


def _task_id(variant: int) -> str:
    return f"t{variant + 1}"
