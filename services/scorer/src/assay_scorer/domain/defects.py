"""What the tasks of a run show of the skill's own programs: which never worked, whether any did."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from assay_contracts.attribution import Attribution, Defect, ProgramRun
from assay_contracts.runs import TaskOutcome
from assay_contracts.skills import SkillManifest
from assay_contracts.tasks import TaskId

_NO_PROGRAM: Final = re.compile(
    r"\.(?:md|txt|rst|html?|css|json|ya?ml|toml|ini|xml|[ct]sv|svg|png|jpe?g|pdf|docx|xlsx|pptx"
    r"|tex|log)$"
)
"""Ends of files that commands copy, show or work on."""

_APART: Final = re.compile(r"(?:SKILL\.md|LICENSE[^/]*|README[^/]*)$")
"""Files that offer nothing beside the SKILL.md."""
FEWEST_LINES: Final = 4
"""Of a body with instructions: a heading, a blank and two lines hold none to speak of."""


def defects(outcomes: Sequence[TaskOutcome]) -> tuple[Defect, ...]:
    """Every program that was run and failed each time, those that did the most harm first.

    A program that worked once is in order: the other runs were given something it rightly refused.
    """
    attributions = _attributions(outcomes)
    runs: dict[str, list[tuple[TaskId, ProgramRun]]] = {}
    for task_id, attribution in attributions.items():
        for run in attribution.programs:
            runs.setdefault(run.program, []).append((task_id, run))
    found = [
        _defect(program, these, attributions)
        for program, these in runs.items()
        if all(run.failed for _, run in these)
    ]
    return tuple(sorted(found, key=lambda defect: (not defect.main_path, defect.program)))


def _defect(
    program: str,
    runs: Sequence[tuple[TaskId, ProgramRun]],
    attributions: Mapping[TaskId, Attribution],
) -> Defect:
    # A crash explains more than a refusal, which may be an answer to what the crash left.
    telling = next((run for _, run in runs if run.ended == "crashed"), runs[0][1])
    tasks = tuple(dict.fromkeys(task_id for task_id, _ in runs))
    return Defect(
        program=program,
        command=telling.command,
        error=telling.error,
        tasks=tasks,
        main_path=any(attributions[task_id].kind == "around" for task_id in tasks),
    )


def unexercised(manifest: SkillManifest, outcomes: Sequence[TaskOutcome]) -> tuple[str, ...]:
    """The programs that the SKILL.md tells agents to run, where not one run of any was seen.

    Empty where there are none, where one was run, and where nobody looked (older data).
    """
    attributions = _attributions(outcomes)
    if not attributions or any(each.programs for each in attributions.values()):
        return ()
    files = [entry.path for entry in manifest.files]
    return tuple(
        path
        for path in files
        if "/" in path
        and not _NO_PROGRAM.search(path)
        and any(path in command for command in manifest.commands)
    )


def says_too_little(manifest: SkillManifest) -> bool:
    """Whether there is hardly a sentence in it that could be followed, and nothing else either.

    That agents do well beside it says nothing about it. False where its files are not known.
    """
    others = [entry.path for entry in manifest.files if not _APART.match(entry.path)]
    return bool(manifest.files) and not others and manifest.body_lines <= FEWEST_LINES


def _attributions(outcomes: Sequence[TaskOutcome]) -> dict[TaskId, Attribution]:
    return {each.task_id: each.attribution for each in outcomes if each.attribution is not None}
