"""Writes the words of a report from its data alone, and says that no language model took part."""

from typing import Any

from assay_agentkit.rehearsal import REHEARSAL_PROVIDER, Reply, ToolUse, Turn
from assay_contracts.grades import is_done
from assay_judge.domain.material import unfenced
from assay_judge.domain.prose import ProseDraft
from assay_judge.rehearsal.planner import LITTLE_CAN_BE_TOLD

_MOST = 6


def report_policy(turn: Turn) -> Reply:
    """Answer at once: everything to report is in the request."""
    request = next(str(m.text) for m in turn.messages if "<<<DATA " in str(m.text))
    return Reply(calls=(ToolUse(ProseDraft.__name__, _prose(unfenced(request))),))


def _prose(report: dict[str, Any]) -> dict[str, Any]:
    rehearsed = all(use["model"].startswith(REHEARSAL_PROVIDER) for use in report["models"])
    caveat = " No language model took part: what the skill documents was tried as it stands."
    return {
        "summary": f"{report['verdict'].capitalize()}. {report['reason'].rstrip('.')[:300]}."
        + (caveat if rehearsed else ""),
        "strengths": _strengths(report)[:_MOST],
        "weaknesses": _weaknesses(report)[:_MOST],
        "recommendations": _recommendations(report)[:_MOST],
    }


def _strengths(report: dict[str, Any]) -> list[str]:
    found = []
    for run in report["runs"]:
        good = [grade["task_id"] for grade in run["grades"] if is_done(grade["grade"])]
        if good:
            found.append(f"In the {run['kind']} run the work was done: {', '.join(good)}.")
        used = [o["task_id"] for o in run["outcomes"] if _uses(o, report["skill_name"])]
        if used and run["kind"] == "online":
            found.append(f"The skill was found and used without being named: {', '.join(used)}.")
        if run["kind"] == "offline" and not run["network_calls"] and not run["failure"]:
            found.append("It works without a network: none was asked for in the offline run.")
    return found


def _weaknesses(report: dict[str, Any]) -> list[str]:
    found: list[str] = []
    if any(_tells_little(task) for task in report["tasks"]):
        found.append(
            "It documents no command that could be tried: all that was told is whether what its "
            "instructions point to is there, whether its scripts parse, and whether it is found. "
            "Whether the instructions are any good was not judged."
        )
    for run in report["runs"]:
        poor = [grade for grade in run["grades"] if not is_done(grade["grade"])]
        found.extend(
            f"{grade['task_id']} in the {run['kind']} run: {grade['reasons']}" for grade in poor
        )
        unused = [o["task_id"] for o in run["outcomes"] if not _uses(o, report["skill_name"])]
        if unused and run["kind"] == "online":
            found.append(f"The skill was not used where it was meant to be: {', '.join(unused)}.")
        places = sorted({call["destination"] for call in run["network_calls"]})
        if places and run["kind"] == "offline":
            found.append(f"The network was asked for in the offline run: {', '.join(places)}.")
        if run["failure"]:
            found.append(f"The {run['kind']} run could not be judged: {run['failure']}")
    return found


def _recommendations(report: dict[str, Any]) -> list[str]:
    found = [finding["fix"] for finding in report["findings"] if finding["severity"] != "note"]
    if any(_tells_little(task) for task in report["tasks"]):
        found.append("Validate it with a language model before relying on it.")
    for run in report["runs"]:
        if any(not is_done(grade["grade"]) for grade in run["grades"]):
            found.append("Make every documented command work as shown, on the inputs shown.")
        if run["kind"] == "offline" and run["network_calls"]:
            found.append("Bring along what is needed, or make do without when there is no network.")
        if any(not _uses(outcome, report["skill_name"]) for outcome in run["outcomes"]):
            found.append("Let the description say what the skill does in the words people use.")
    return list(dict.fromkeys(found))


def _tells_little(task: dict[str, Any]) -> bool:
    return str(task["success_criterion"]).startswith(LITTLE_CAN_BE_TOLD)


def _uses(outcome: dict[str, Any], skill: str) -> bool:
    return any(use["skill"] == skill for use in outcome["skills_used"])
