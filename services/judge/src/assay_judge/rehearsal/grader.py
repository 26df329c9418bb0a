"""Grades from exit codes, check results and outputs, by a fixed table.

| what the trace shows | grade |
|---|---|
| nothing was run and nothing was made | 1 |
| the last command failed and every check failed | 1 |
| the last command failed, or a bound was hit | 2 |
| every command worked, fewer than half of the checks passed | 2 |
| every command worked, some check failed | 3 |
| everything worked, but no command was documented to judge by | 3 |
| the last command worked and every check passed, an earlier command failed | 4 |
| everything worked and every check passed | 5 |
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from assay_judge.domain.grading import SHORTEST_QUOTE, GradeDraft
from assay_judge.domain.material import unfenced
from assay_judge.rehearsal.planner import LITTLE_CAN_BE_TOLD
from assay_rehearsal.conversation import Reply, ToolUse, Turn

_LONGEST_QUOTE: Final = 300
_MOST_QUOTES: Final = 4
_LONGEST_CAUSE: Final = 200


def grade_policy(turn: Turn) -> Reply:
    """Answer at once: everything to judge by is in the request."""
    material = unfenced(_request(turn))
    grade, reason = _grade(material)
    draft = {
        "evidence": [{"quote": quote} for quote in _quotes(material)],
        "reasons": reason,
        "grade": grade,
    }
    return Reply(calls=(ToolUse(GradeDraft.__name__, draft),))


def _request(turn: Turn) -> str:
    return next(str(m.text) for m in turn.messages if "<<<DATA " in str(m.text))


def _grade(material: dict[str, Any]) -> tuple[int, str]:
    runs = [step for step in material["steps"] if step["exit_code"] is not None]
    failed = [step for step in runs if step["exit_code"] != 0]
    checks = material["checks"]
    missed = [check for check in checks if not check["passed"]]
    if not runs and not material["files_made"]:
        return 1, "No command was run and no file was made."
    if runs and runs[-1] in failed:
        ended = f"The last command ended with exit code {runs[-1]['exit_code']}"
        cause = _last_line(runs[-1]["output"])[:_LONGEST_CAUSE]
        said = f" It said: “{cause}”." if cause else ""
        if checks and len(missed) == len(checks):
            return 1, f"{ended} and every check failed.{said}"
        return 2, f"{ended}.{said}"
    if material["bounds_hit"]:
        return 2, f"The agent was stopped by a bound ({', '.join(material['bounds_hit'])})."
    if len(missed) * 2 > len(checks):
        return 2, f"The commands worked, but {_count(missed, checks)} failed."
    if missed:
        return 3, f"The commands worked, but {_count(missed, checks)} failed."
    if material["task"]["success_criterion"].startswith(LITTLE_CAN_BE_TOLD):
        return 3, "What can be told without a language model is in order; that is little."
    if failed:
        return 4, "The work was done, but an earlier command failed."
    return 5, "Every command worked and every check passed."


def _count(missed: Sequence[object], checks: Sequence[object]) -> str:
    return f"{len(missed)} of {len(checks)} checks"


def _quotes(material: dict[str, Any]) -> list[str]:
    """Failed checks and failed commands first, then the last command and what it showed."""
    checks = sorted(material["checks"], key=lambda check: bool(check["passed"]))
    runs = [step for step in material["steps"] if step["exit_code"] is not None]
    failed = [step for step in runs if step["exit_code"] != 0]
    telling = [
        *(check["detail"] for check in checks if not check["passed"]),
        *(_last_line(step["output"]) for step in failed),
        *(_last_line(step["output"]) for step in runs[-1:]),
        *(_command_of(step) for step in runs[-1:]),
        *(check["detail"] for check in checks),
    ]
    # Where nothing was done, all there is to show is what was said, or else what was asked.
    rest = [material["answer"], *material["files_made"], material["task"]["prompt"]]
    return _usable(telling)[:_MOST_QUOTES] or _usable(rest)[:1]


def _usable(texts: Sequence[str]) -> list[str]:
    cut = (" ".join(text.split())[:_LONGEST_QUOTE].strip() for text in texts)
    usable = dict.fromkeys(quote for quote in cut if len(quote) >= SHORTEST_QUOTE)
    return list(usable)


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _command_of(step: dict[str, Any]) -> str:
    raw = str(step["arguments"])
    try:
        command = str(json.loads(raw)["command"])
    except (ValueError, KeyError, TypeError):
        return raw
    return command if command in raw else raw
