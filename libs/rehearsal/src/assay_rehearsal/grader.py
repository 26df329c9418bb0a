"""Grades from what code saw of the work, by fixed tables.

Where the built-in model did the task, code has told what it shows of what the skill documents:

| it shows | grade |
|---|---|
| what was tried did not work | 1 |
| nothing | 1 |
| something worked, and something beside it ended badly or is not there | 4 |
| everything worked | 5 |

Where an LLM did it:

| what the trace shows | grade |
|---|---|
| nothing was run and nothing was made | 1 |
| the last command failed and every check failed | 1 |
| the last command failed, or a bound was hit | 2 |
| every command worked, fewer than half of the checks passed | 2 |
| every command worked, some check failed | 3 |
| the last command worked and every check passed, an earlier command failed | 4 |
| everything worked and every check passed | 5 |
"""

import json
import re
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict

from assay_contracts.coverage import TaskShows
from assay_rehearsal.conversation import Reply, ToolUse, Turn
from assay_skillkit.shell.causes import cause_of

ANSWER_TOOL: Final = "GradeDraft"
"""The tool that the judge's grader answers with."""
_EXIT_CODE: Final = re.compile(r"exit code (-?\d+)")
_SHORTEST_QUOTE: Final = 3
"""Shorter quotations show nothing."""
_LONGEST_QUOTE: Final = 300
_MOST_QUOTES: Final = 4
_LONGEST_CAUSE: Final = 200


class _Shown(BaseModel):
    """A part of the request; what is of no use here is left out."""

    model_config = ConfigDict(frozen=True)


class _Step(_Shown):
    arguments: str
    ended: str
    """`exit code 0` for a command; other words for other tools."""
    output: str

    @property
    def exit_code(self) -> int | None:
        said = _EXIT_CODE.fullmatch(self.ended)
        return int(said[1]) if said else None


class _Check(_Shown):
    passed: bool
    detail: str


class _Task(_Shown):
    prompt: str
    success_criterion: str


class _Work(_Shown):
    """The work on one task, as the request shows it."""

    shows: TaskShows | None = None
    task: _Task
    steps: tuple[_Step, ...]
    bounds_hit: tuple[str, ...]
    files_made: tuple[str, ...]
    checks: tuple[_Check, ...]
    answer: str

    @property
    def runs(self) -> tuple[_Step, ...]:
        """Steps that ran a command."""
        return tuple(step for step in self.steps if step.exit_code is not None)

    @property
    def failed_runs(self) -> tuple[_Step, ...]:
        return tuple(step for step in self.runs if step.exit_code != 0)

    @property
    def failed_checks(self) -> tuple[_Check, ...]:
        return tuple(check for check in self.checks if not check.passed)


def grader_policy(turn: Turn) -> Reply:
    """Answer at once: everything to judge by is in the request."""
    work = _Work.model_validate(turn.fenced_data())
    grade, reason = _grade(work)
    draft = {
        "evidence": [{"quote": quote} for quote in _quotes(work)],
        "reasons": reason,
        "grade": grade,
    }
    return Reply(calls=(ToolUse(ANSWER_TOOL, draft),))


def _grade(work: _Work) -> tuple[int, str]:
    if work.shows is not None:
        return _rehearsed_grade(work)
    runs, checks, missed = work.runs, work.checks, work.failed_checks
    if not runs and not work.files_made:
        return 1, "No command was run and no file was made."
    if runs and runs[-1].exit_code != 0:
        ended = f"The last command ended with exit code {runs[-1].exit_code}"
        cause = cause_of(runs[-1].output)[:_LONGEST_CAUSE]
        said = f" It said: “{cause}”." if cause else ""
        if checks and len(missed) == len(checks):
            return 1, f"{ended} and every check failed.{said}"
        return 2, f"{ended}.{said}"
    if work.bounds_hit:
        return 2, f"The agent was stopped by a bound ({', '.join(work.bounds_hit)})."
    if missed:
        few_passed = len(missed) * 2 > len(checks)
        said = f"The commands worked, but {len(missed)} of {len(checks)} checks failed."
        return (2 if few_passed else 3), said
    if work.failed_runs:
        return 4, "The work was done, but an earlier command failed."
    return 5, "Every command worked and every check passed."


def _rehearsed_grade(work: _Work) -> tuple[int, str]:
    troubled = [cause_of(step.output) for step in work.failed_runs]
    cause = next((cause for cause in troubled if cause), "")[:_LONGEST_CAUSE]
    said = f" The first thing that ended badly said: “{cause}”." if cause else ""
    if work.shows == "failed":
        return 1, f"What the skill documents was tried, and did not work.{said}"
    if work.shows == "nothing":
        return 1, f"Nothing that was run shows anything of what the skill documents.{said}"
    if work.failed_runs or work.failed_checks:
        return 4, f"What was tried worked in part.{said}"
    return 5, "Everything that was tried worked."


def _quotes(work: _Work) -> list[str]:
    """Failed checks and failed commands first, then the last command and what it showed."""
    passed = [check for check in work.checks if check.passed]
    last = work.runs[-1:]
    telling = [
        *(check.detail for check in work.failed_checks),
        *(cause_of(step.output) for step in (*work.failed_runs, *last)),
        *(_command_of(step) for step in last),
        *(check.detail for check in passed),
    ]
    # Where nothing was done, all there is to show is what was said, or else what was asked.
    rest = [work.answer, *work.files_made, work.task.prompt]
    return _usable(telling)[:_MOST_QUOTES] or _usable(rest)[:1]


def _usable(texts: Sequence[str]) -> list[str]:
    cut = (" ".join(text.split())[:_LONGEST_QUOTE].strip() for text in texts)
    return list(dict.fromkeys(quote for quote in cut if len(quote) >= _SHORTEST_QUOTE))


def _command_of(step: _Step) -> str:
    try:
        command = str(json.loads(step.arguments)["command"])
    except (ValueError, KeyError, TypeError):
        return step.arguments
    return command if command in step.arguments else step.arguments
