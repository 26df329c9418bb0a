"""What the planner's agents answer with, and what becomes of it once it will do."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from assay_contracts.tasks import Check, NearMiss, Task, TaskFile
from assay_contracts.workbench import WORKBENCH_FOLDER, Reference
from assay_judge.domain.plan import NEAR_MISSES, NOT_PLAIN, is_plain_relative

_FORM: Final = ConfigDict(frozen=True, use_attribute_docstrings=True)


def _without_discriminator(checks: JsonDict) -> None:
    """Each kind of check names its own `kind`, which is enough to tell them apart.

    The discriminator's mapping would point into `$defs`, which providers never get to see.
    """
    items = checks["items"]
    if isinstance(items, dict):
        items.pop("discriminator", None)


def _not_null(field: JsonDict) -> None:
    """Only the rehearsal leaves it out, and it reads no schema."""
    variants = field.pop("anyOf", None)
    if isinstance(variants, list) and isinstance(variants[0], dict):
        field.update(variants[0])


class TaskOutline(BaseModel):
    """One task in a few sentences, for the agent that prepares it."""

    model_config = _FORM

    need: str = Field(min_length=20, max_length=2000)
    """Who wants what, from what kind of input, as which result file; what of the skill it tries."""


class TaskOutlines(BaseModel):
    """The plan in outline."""

    model_config = _FORM

    outlines: tuple[TaskOutline, ...]
    """One for each task asked for; each tries something else, or other data."""
    near_misses: tuple[Annotated[str, Field(min_length=10, max_length=2000)], ...] = Field(
        max_length=NEAR_MISSES
    )
    """Prompts close to the skill's subject for which it should not be used."""


class DraftFile(BaseModel):
    """A file, given by its text or as one that was made in the sandbox: exactly one of the two."""

    model_config = _FORM

    path: str
    """Relative to the task's folder."""
    content: str | None = None
    """Its text."""
    encoding: Literal["text", "base64"] = "text"
    """How `content` is written down."""
    made: str | None = None
    """Path of a file that you made in the sandbox, for whatever is no text."""


class ReferenceDraft(BaseModel):
    """A right result of the task, made by you, without the skill."""

    model_config = _FORM

    files: tuple[DraftFile, ...] = Field(max_length=20)
    """What right work adds to the task's folder, or changes in it; empty if it makes no file."""
    answer: str = Field(max_length=8000)
    """What an agent that did it right would say at the end."""


class TaskDraft(BaseModel):
    """One task, ready to be given to agents."""

    model_config = _FORM

    prompt: str = Field(min_length=20, max_length=8000)
    """What the agent is asked, in the words of someone who has never heard of the skill."""
    files: tuple[DraftFile, ...] = Field(max_length=20)
    """Input files put into the task's folder beforehand; empty if it needs none."""
    success_criterion: str = Field(min_length=10, max_length=2000)
    """What a good result is, so that a stranger can tell."""
    checks: tuple[Check, ...] = Field(
        min_length=1, max_length=10, json_schema_extra=_without_discriminator
    )
    """What code checks afterwards; they fail on the input files alone and pass on the reference."""
    reference: ReferenceDraft | None = Field(json_schema_extra=_not_null)


@dataclass(frozen=True, slots=True)
class PreparedTask:
    """A draft with the bytes of all its files."""

    task: Task
    reference: Reference | None


def prepared(draft: TaskDraft, made: Mapping[str, bytes], *, number: int) -> PreparedTask:
    """The draft as it goes on the bus.

    Args:
        draft: Without `file_problems`.
        made: The files in the sandbox's folder, by their path below it.
        number: Of the task.
    """
    reference = draft.reference
    return PreparedTask(
        Task(
            task_id=f"t{number}",
            prompt=draft.prompt,
            files=tuple(_task_file(file, made) for file in draft.files),
            success_criterion=draft.success_criterion,
            checks=draft.checks,
        ),
        Reference(
            files=tuple(_task_file(file, made) for file in reference.files),
            answer=reference.answer,
        )
        if reference
        else None,
    )


def file_problems(
    draft: TaskDraft, made: Mapping[str, bytes], *, needs_reference: bool
) -> Iterator[str]:
    """What is wrong with how files are given."""
    if draft.reference is None and needs_reference:
        yield "There is no reference. Make a right result and give it, so that checks can be tried."
    references = draft.reference.files if draft.reference else ()
    for file in (*draft.files, *references):
        if not is_plain_relative(file.path):
            yield f"The path {file.path!r} {NOT_PLAIN}."
        if (file.content is None) == (file.made is None):
            yield f"{file.path!r} has to be given by `content` or by `made`, one of the two."
        elif file.made is not None and _below_folder(file.made) not in made:
            there = ", ".join(sorted(made)[:20]) or "nothing"
            yield f"There is no file {file.made!r} in the sandbox's folder; there is: {there}."


def as_near_misses(prompts: Iterable[str]) -> tuple[NearMiss, ...]:
    """The near misses as they go on the bus."""
    return tuple(
        NearMiss(near_miss_id=f"n{number}", prompt=prompt)
        for number, prompt in enumerate(prompts, start=1)
    )


def first_number(known: Sequence[Task]) -> int:
    """The number of the first new task, on from the tasks there are already."""
    return max((int(task.task_id.removeprefix("t")) for task in known), default=0) + 1


def _task_file(file: DraftFile, made: Mapping[str, bytes]) -> TaskFile:
    if file.made is not None:
        return TaskFile.of(file.path, made[_below_folder(file.made)])
    return TaskFile(path=file.path, content=file.content or "", encoding=file.encoding)


def _below_folder(path: str) -> str:
    return posixpath.normpath(path.removeprefix(f"{WORKBENCH_FOLDER}/"))
