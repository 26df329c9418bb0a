"""What a plan must be before anyone carries it out."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.tasks import (
    Check,
    CommandCheck,
    FileCheck,
    PatternCheck,
    ProgramCheck,
    Task,
    TaskFile,
)
from assay_judge.domain.blindness import HiddenSkill, leaks, name_rule
from assay_skillkit.words import Overlap, content_words, overlap

LARGEST_PLAN: Final = 256 * 1024
"""Bytes of all input files together."""
LONGEST_PATH: Final = 200
LONGEST_COPIED_RUN: Final = 8
"""Words in a row that a prompt may share with the description."""
MOST_COPIED: Final = 0.5
"""Share of a prompt's word triples that may stand in the description."""
MOST_ALIKE: Final = 0.8
"""Share of content words that two tasks of one plan may have in common when files are equal too."""

NEAR_MISSES: Final = 2
"""Wanted beside the tasks; a plan with fewer will do."""

NOT_PLAIN: Final = "is not a plain relative path inside the task's folder"


@dataclass(frozen=True, slots=True)
class PlanRules:
    """What a plan for one skill is refused for."""

    skill: HiddenSkill

    def leaks(self, text: str) -> tuple[str, ...]:
        """What the text gives away of the skill; empty when it is blind."""
        return leaks(text, self.skill)

    def about_the_name(self) -> str:
        """The rule about the skill's name as it is applied, in words for the planner."""
        return name_rule(self.skill)

    def problems(
        self, tasks: Sequence[Task], *, task_count: int, known: Sequence[Task] = ()
    ) -> tuple[str, ...]:
        """Everything that is wrong with a plan of these tasks, in words its author can act on.

        Args:
            tasks: As written.
            task_count: How many there must be.
            known: Tasks there are already, which the plan must not repeat.
        """
        return (
            *_size_problems(tasks, task_count),
            *(
                f"Task {number}: {problem}."
                for number, task in enumerate(tasks, start=1)
                for problem in self._task_problems(task)
            ),
            *_repetitions(tasks, known),
        )

    def near_miss_problems(self, prompts: Sequence[str]) -> tuple[str, ...]:
        """What is wrong with near misses: they are as blind as tasks."""
        return tuple(
            f"Near miss {number}: {problem}."
            for number, prompt in enumerate(prompts, start=1)
            for problem in self._prompt_problems(prompt)
        )

    def outline_problems(
        self, outlines: int, near_misses: Sequence[str], *, task_count: int
    ) -> tuple[str, ...]:
        """What is wrong with a plan in outline."""
        miscounted = (
            (f"There are {outlines} outlines; exactly {task_count} are wanted.",)
            if outlines != task_count
            else ()
        )
        return (*miscounted, *self.near_miss_problems(near_misses))

    def task_problems(
        self, task: Task, *, others: Sequence[Task], task_count: int
    ) -> tuple[str, ...]:
        """What is wrong with one task, beside the others there are."""
        size = sum(len(file.to_bytes()) for file in task.files)
        most = LARGEST_PLAN // task_count
        too_large = f"The input files have {size} bytes together; at most {most} are allowed."
        return (
            *(f"{problem[:1].upper()}{problem[1:]}." for problem in self._task_problems(task)),
            *((too_large,) if size > most else ()),
            *(
                f"The task is like one that there is already ({other.prompt[:80]!r}); ask for "
                "something else, or give other data."
                for other in others
                if _alike(task, other)
            ),
        )

    def _prompt_problems(self, prompt: str) -> Iterator[str]:
        yield from (f"the prompt gives the skill away: {leak}" for leak in self.leaks(prompt))
        copied = overlap(prompt, self.skill.description)
        if _parrots(copied):
            yield (
                "the prompt repeats the skill's description almost word for word "
                f"({copied.longest_run:g} words in a row); say it in other words"
            )

    def _task_problems(self, task: Task) -> Iterator[str]:
        yield from self._prompt_problems(task.prompt)
        for number, file in enumerate(task.files):
            if not is_plain_relative(file.path):
                yield f"the path {file.path!r} {NOT_PLAIN}"
            if any(file.path == other.path for other in task.files[:number]):
                yield f"the file {file.path!r} is given twice"
            words = file.content if file.encoding == "text" else ""
            for leak in self.leaks(f"{file.path}\n{words}"):
                yield f"the input file {file.path!r} gives the skill away: {leak}"
        for check in task.checks:
            yield from _check_problems(check)


def rules_for(*, skill_name: str, description: str, paths: tuple[str, ...]) -> PlanRules:
    """The rules for a skill that tasks must not give away."""
    return PlanRules(HiddenSkill(skill_name, description, paths))


def _size_problems(tasks: Sequence[Task], task_count: int) -> Iterator[str]:
    if len(tasks) != task_count:
        yield f"The plan has {len(tasks)} tasks; exactly {task_count} are wanted."
    size = sum(len(file.to_bytes()) for task in tasks for file in task.files)
    if size > LARGEST_PLAN:
        yield f"The input files have {size} bytes together; at most {LARGEST_PLAN} are allowed."


def _repetitions(tasks: Sequence[Task], known: Sequence[Task]) -> Iterator[str]:
    for second, task in enumerate(tasks):
        for first, other in enumerate(tasks[:second]):
            if _alike(task, other):
                yield f"Tasks {first + 1} and {second + 1} are the same task; make them differ."
    for number, task in enumerate(tasks, start=1):
        if any(_alike(task, other) for other in known):
            yield f"Task {number} is like one that there is already; write another one."


def _check_problems(check: Check) -> Iterator[str]:
    path = check.path if isinstance(check, FileCheck | PatternCheck) else None
    if path is not None and not is_plain_relative(path):
        yield f"the check's path {path!r} {NOT_PLAIN}"
    if isinstance(check, PatternCheck):
        try:
            re.compile(check.pattern)
        except re.error as error:
            yield f"the pattern {check.pattern!r} is no regular expression ({error})"
    if isinstance(check, CommandCheck | ProgramCheck):
        code = check.command if isinstance(check, CommandCheck) else check.source
        if not code.strip():
            yield f"a {check.kind} check is empty"
        if "/workspace/skills" in code:
            yield "a check must look at results, not run the skill again"


def _parrots(copied: Overlap) -> bool:
    return copied.longest_run > LONGEST_COPIED_RUN or copied.shared_trigrams > MOST_COPIED


def is_plain_relative(path: str) -> bool:
    """Whether the path keeps to the folder that it is relative to."""
    clean = posixpath.normpath(path)
    return (
        bool(path.strip())
        and "\0" not in path
        and "\\" not in path
        and not path.startswith(("/", "~"))
        and clean != "."
        and not clean.startswith("..")
        and len(path) <= LONGEST_PATH
    )


def _alike(task: Task, other: Task) -> bool:
    return _same_words(task.prompt, other.prompt) and _contents(task.files) == _contents(
        other.files
    )


def _same_words(text: str, other: str) -> bool:
    ours, theirs = content_words(text), content_words(other)
    all_words = ours | theirs
    return not all_words or len(ours & theirs) / len(all_words) > MOST_ALIKE


def _contents(files: Sequence[TaskFile]) -> frozenset[str]:
    return frozenset(file.content for file in files)
