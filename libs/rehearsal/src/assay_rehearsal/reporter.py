"""Writes the words of a report from its data alone, and says that no language model took part."""

from typing import Final

from assay_contracts.grades import is_done
from assay_contracts.reports import Report
from assay_contracts.runs import TaskOutcome
from assay_rehearsal.conversation import Reply, ToolUse, Turn
from assay_rehearsal.model import REHEARSAL_PROVIDER

ANSWER_TOOL: Final = "ProseDraft"
"""The tool that the judge's report writer answers with."""
_MOST: Final = 6


def reporter_policy(turn: Turn) -> Reply:
    """Answer at once: everything to report is in the request."""
    report = Report.model_validate({**turn.fenced_data(), "prose": None})
    return Reply(calls=(ToolUse(ANSWER_TOOL, _prose(report)),))


def _prose(report: Report) -> dict[str, object]:
    rehearsed = all(use.model.startswith(REHEARSAL_PROVIDER) for use in report.models)
    caveat = " No language model took part: what the skill documents was tried as it stands."
    return {
        "summary": f"{report.verdict.capitalize()}. {report.reason.rstrip('.')[:300]}."
        + (caveat if rehearsed else ""),
        "strengths": _strengths(report)[:_MOST],
        "weaknesses": _weaknesses(report)[:_MOST],
        "recommendations": _recommendations(report)[:_MOST],
    }


def _strengths(report: Report) -> list[str]:
    found = []
    for run in report.runs:
        good = [grade.task_id for grade in run.grades if is_done(grade.grade)]
        if good:
            found.append(f"In the {run.kind} run the work was done: {', '.join(good)}.")
        used = [o.task_id for o in run.outcomes if _uses(o, report.skill_name)]
        if used and run.kind == "online":
            found.append(f"The skill was found and used without being named: {', '.join(used)}.")
        if run.kind == "offline" and not run.network_calls_counted and not run.failure:
            found.append("It works without a network: it asked for none in the offline run.")
    return found


def _weaknesses(report: Report) -> list[str]:
    found: list[str] = []
    if _tells_little(report):
        found.append(
            "It documents nothing that could be run: all that was told is whether it is found. "
            "Whether its instructions are any good was not judged."
        )
    found.extend(_broken(report))
    for run in report.runs:
        poor = [grade for grade in run.grades if not is_done(grade.grade)]
        found.extend(
            f"{grade.task_id} in the {run.kind} run: {grade.explanation}" for grade in poor
        )
        unused = [o.task_id for o in run.outcomes if not _uses(o, report.skill_name)]
        if unused and run.kind == "online":
            found.append(f"The skill was not used where it was meant to be: {', '.join(unused)}.")
        places = sorted({call.destination for call in run.network_calls if call.counts})
        if places and run.kind == "offline":
            found.append(f"The network was asked for in the offline run: {', '.join(places)}.")
        if run.failure:
            found.append(f"The {run.kind} run could not be judged: {run.failure}")
    return found


def _broken(report: Report) -> list[str]:
    items = report.coverage.items if report.coverage else ()
    return [
        f"`{item.what}` did not work: {item.reason.rstrip('.')}."
        for item in items
        if item.state == "failed"
    ]


def _recommendations(report: Report) -> list[str]:
    """What to do about each finding; nothing about what was not found."""
    found = [finding.fix for finding in report.findings if finding.severity != "note"]
    items = report.coverage.items if report.coverage else ()
    if _tells_little(report):
        found.append("Validate it with a language model before relying on it.")
    if any(item.state == "failed" for item in items):
        found.append("Make every documented command work as shown, on the inputs shown.")
    if any(item.state == "blocked" for item in items):
        found.append("Say in `compatibility` what has to be there, and provide it for validation.")
    if any(item.state == "unclear" and item.kind == "command" for item in items):
        found.append(
            "Bring along a small sample input, or show one in SKILL.md, so that the documented "
            "commands can be tried on what they are made for."
        )
    if any(item.kind == "script" and item.state != "worked" for item in items):
        found.append("Show in SKILL.md how each program in the bundle is run.")
    for run in report.runs:
        if run.kind == "offline" and run.network_calls_counted:
            found.append("Bring along what is needed, or make do without when there is no network.")
        if any(not _uses(outcome, report.skill_name) for outcome in run.outcomes):
            found.append("Let the description say what the skill does in the words people use.")
    return list(dict.fromkeys(found))


def _tells_little(report: Report) -> bool:
    rehearsed = all(use.model.startswith(REHEARSAL_PROVIDER) for use in report.models)
    return rehearsed and report.coverage is not None and not report.coverage.programs


def _uses(outcome: TaskOutcome, skill: str) -> bool:
    return any(use.skill == skill for use in outcome.skills_used)
