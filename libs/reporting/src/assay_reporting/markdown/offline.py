"""What the offline run showed: what was done worse without a network, and who asked for one."""

from typing import Final

from assay_contracts.reports import Report, RunReport
from assay_contracts.runs import NetworkCall
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import table
from assay_reporting.text import quoted
from assay_reporting.view import (
    NOTHING,
    CallsShown,
    calls_shown,
    cause_text,
    grade_of,
    is_scored,
    made_by,
    run_of,
)

LISTED_CALLS: Final = 50


def offline_findings(report: Report) -> str:
    online, offline = run_of(report, "online"), run_of(report, "offline")
    if offline is None:
        heading = f"## {phrase('Network calls')}"
        return "" if online is None else _online_calls(online, heading=heading)
    parts = [f"## {phrase('Offline findings')}"]
    if online is not None:
        parts.append(_compared(online, offline))
    if offline.lost_offline:
        tasks = ", ".join(offline.lost_offline)
        parts.append(
            phrase(
                "**Not done without a network:** {tasks}. Each counts for the score as a network "
                "call does; if nothing is left that works, it is 0.",
                tasks=tasks,
            )
        )
    parts.append(_network(offline))
    if online is not None and (calls := _online_calls(online, heading="")):
        parts.append(calls)
    return "\n\n".join(parts)


def _compared(online: RunReport, offline: RunReport) -> str:
    worse = [
        phrase(
            "{task} ({online} online, {offline} offline)",
            task=grade.task_id,
            online=before.grade,
            offline=grade.grade,
        )
        for grade in offline.grades
        if (before := grade_of(online, grade.task_id)) and grade.grade < before.grade
    ]
    if not worse:
        return phrase("Every task was done as well without a network as with one.")
    return phrase("Done worse without a network: {tasks}.", tasks=", ".join(worse))


def _network(run: RunReport) -> str:
    how = (
        phrase("Counted by: {how}", how=quoted(run.sandbox.observation, 300)) if run.sandbox else ""
    )
    shown = calls_shown(run, LISTED_CALLS)
    if not shown.total:
        return f"{phrase('**Network calls attempted:** none.')} {how}".rstrip()
    said = phrase(
        "**Network calls attempted:** {total}, of which {counted} counted for the score.",
        total=shown.total,
        counted=shown.counted or phrase("none"),
    )
    return f"{said} {how}\n\n{_listed(run, shown)}"


def _online_calls(run: RunReport, *, heading: str) -> str:
    """What the online run reached for, which is only listed."""
    shown = calls_shown(run, LISTED_CALLS)
    if not shown.total:
        return ""
    said = phrase("**Network calls of the online run, never scored:** {total}.", total=shown.total)
    return "\n\n".join(filter(None, (heading, said, _listed(run, shown))))


def _listed(run: RunReport, shown: CallsShown) -> str:
    columns = (
        phrase("when"),
        phrase("task"),
        phrase("to"),
        phrase("by"),
        phrase("cause"),
        phrase("attempts"),
        phrase("counted"),
    )
    rows = table(columns, (_call(run, call) for call in shown.calls))
    return f"{rows}\n\n{phrase('and {count} more.', count=shown.more)}" if shown.more else rows


def _call(run: RunReport, call: NetworkCall) -> tuple[str, ...]:
    return (
        f"{call.at:%H:%M:%S}",
        call.task_id or NOTHING,
        quoted(call.destination, 100),
        quoted(made_by(call), 120),
        cause_text(call),
        str(call.attempts),
        phrase("yes") if is_scored(run, call) else phrase("no"),
    )
