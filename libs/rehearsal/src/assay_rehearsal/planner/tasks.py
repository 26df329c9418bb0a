"""Tasks from what a SKILL.md documents: its exercises, on inputs made for them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.tasks import Check, FileCheck, Task, TaskFile
from assay_rehearsal.exercises import Exercise, exercise_for, exercises_of
from assay_rehearsal.planner.checks import checks_for, is_silent, result_name
from assay_rehearsal.planner.inputs import file_name, input_files
from assay_rehearsal.planner.rules import PlanRules
from assay_rehearsal.planner.wording import Wording, aims
from assay_rehearsal.task_commands import files_in_prompt
from assay_skillkit.document import SkillDocument
from assay_skillkit.documented_items import DocumentedItem
from assay_skillkit.file_names import extension

NO_COMMAND_CRITERION: Final = "Without a language model nothing of this can be tried:"
"""Opens the success criterion of a task for a skill that documents nothing to be run."""
_MOST_OUTPUTS: Final = 3
_GIT_IN_SCRIPTS: Final = ('"git"', "'git'", "git log", "git rev-parse", "git diff", "git status")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillToPlanFor:
    """A skill with all that was read of it."""

    name: str
    document: SkillDocument
    rules: PlanRules
    scripts: Mapping[str, str]
    """Content by path relative to the skill's folder."""
    items: tuple[DocumentedItem, ...]
    wording: Wording

    def scripts_of(self, exercise: Exercise) -> tuple[str, ...]:
        paths = (path for item in exercise.items if item.shape for path in item.shape.skill_files)
        return tuple(self.scripts[path] for path in dict.fromkeys(paths) if path in self.scripts)


def make_plan(skill: SkillToPlanFor, task_count: int, *, known: Sequence[str]) -> tuple[Task, ...]:
    """As many different tasks as asked for, spread over the exercises.

    `known` are the prompts there are already: the data of each variant differs from theirs, or
    where a task has none, its words.
    """
    exercises = exercises_of(skill.items)
    tasks: list[Task] = []
    there = [
        Task(task_id=f"t{number}", prompt=prompt, success_criterion="It is there already.")
        for number, prompt in enumerate(known, start=1)
    ]
    for variant in range(len(known), len(known) + task_count):
        possible = list(_possible_tasks(skill, exercises, variant))
        accepted = (
            task
            for task in possible
            if not skill.rules.problems([*tasks, task], task_count=len(tasks) + 1, known=there)
        )
        # A plan with a fault is refused for its reason; a missing task would only be counted.
        tasks.append(next(accepted, possible[-1]))
    return tuple(tasks)


def _possible_tasks(
    skill: SkillToPlanFor, exercises: Sequence[Exercise], variant: int
) -> Iterator[Task]:
    if not exercises:
        yield from _reading_tasks(skill, variant)
        return
    wanted = exercises[variant % len(exercises)]
    missed: list[Task] = []
    for task in _exercise_tasks(wanted, skill, variant):
        files = files_in_prompt(task.prompt)
        if exercise_for(exercises, task.prompt, files.all) is wanted:
            yield task
        else:
            missed.append(task)
    yield from missed


def _exercise_tasks(exercise: Exercise, skill: SkillToPlanFor, variant: int) -> Iterator[Task]:
    """Tasks that an agent following the document carries out with this exercise."""
    scripts = skill.scripts_of(exercise)
    names = _names_of_inputs(exercise, skill, variant)
    about = "\n".join((*(item.what for item in exercise.items), *scripts, skill.document.prose))
    files = tuple(
        file
        for documented, name in names.items()
        for file in input_files(name, documented, about, variant, skill.document.samples)
    )
    outputs = _outputs(exercise, scripts, variant)
    leads = [
        text
        for item in exercise.tried
        if (source := item.command or item.code)
        for text in (source.lead, source.heading)
    ]
    prompts = skill.wording.prompts(
        list(aims(leads, skill.document, scripts)),
        inputs=tuple(names.values()),
        outputs=outputs,
        variant=variant,
        in_repository=exercise.uses_git or _asks_git(scripts),
    )
    for prompt in prompts:
        yield Task(
            task_id=_task_id(variant),
            prompt=prompt,
            files=files,
            success_criterion=_criterion(exercise, outputs, files),
            checks=checks_for(outputs, inputs=files),
        )


def _criterion(exercise: Exercise, outputs: Sequence[str], files: Sequence[TaskFile]) -> str:
    where = " and ".join(f"`{name}`" for name in outputs)
    result = f"{where} holds the result" if where else "The given files were changed as asked"
    given = ", made from what is given" if files else ""
    return f"{result}{given}; {len(exercise.tried)} documented steps ended without error."


def _asks_git(scripts: Sequence[str]) -> bool:
    return any(sign in script for script in scripts for sign in _GIT_IN_SCRIPTS)


def _outputs(exercise: Exercise, scripts: Sequence[str], variant: int) -> tuple[str, ...]:
    """What the task calls the files that results are wanted in; none where inputs are changed."""
    prints = any(not item.outputs for item in exercise.tried)
    if exercise.made:
        kept = exercise.made[:_MOST_OUTPUTS]
        return (*kept, result_name(variant)) if prints else kept
    return () if is_silent(exercise, "\n".join(scripts)) else (result_name(variant),)


def _names_of_inputs(exercise: Exercise, skill: SkillToPlanFor, variant: int) -> dict[str, str]:
    """For each documented input, what the task calls it: the same, unless that gives it away."""
    names: dict[str, str] = {}
    for documented in exercise.given:
        if not skill.rules.leaks(f"`{documented}`"):
            names[documented] = documented
            continue
        names[documented] = file_name(
            extension(documented), variant, taken=tuple(names.values()), avoid=skill.name
        )
    return names


def _reading_tasks(skill: SkillToPlanFor, variant: int) -> Iterator[Task]:
    """Tasks for which an agent can do no more than read what the skill says."""
    notes = ("notes.txt", "findings.txt", "remarks.txt", "answers.txt", "lines.txt")[variant % 5]
    checks: tuple[Check, ...] = (FileCheck(path=notes),)
    prompts = skill.wording.prompts(
        list(aims((), skill.document, ())),
        inputs=(),
        outputs=(notes,),
        variant=variant,
        in_repository=False,
    )
    for prompt in prompts:
        yield Task(
            task_id=_task_id(variant),
            prompt=prompt,
            success_criterion=(
                f"{NO_COMMAND_CRITERION} all that can be told is whether an agent with this need "
                "looks here."
            ),
            checks=checks,
        )


def _task_id(variant: int) -> str:
    return f"t{variant + 1}"
