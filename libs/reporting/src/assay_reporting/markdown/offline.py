"""What the offline run showed: what was done worse without a network, and who asked for one."""

from typing import Final

from assay_contracts.reports import Report, RunReport
from assay_contracts.runs import NetworkCall
from assay_reporting.markdown.layout import table
from assay_reporting.text import quoted
from assay_reporting.view import NOTHING, calls_shown, grade_of, run_of

LISTED_CALLS: Final = 50


def offline_findings(report: Report) -> str:
    online, offline = run_of(report, "online"), run_of(report, "offline")
    if offline is None:
        return ""
    parts = ["## Offline findings"]
    if online is not None:
        parts.append(_compared(online, offline))
    parts.append(_network(offline))
    return "\n\n".join(parts)


def _compared(online: RunReport, offline: RunReport) -> str:
    worse = [
        f"{grade.task_id} ({before.grade} online, {grade.grade} offline)"
        for grade in offline.grades
        if (before := grade_of(online, grade.task_id)) and grade.grade < before.grade
    ]
    if not worse:
        return "Every task was done as well without a network as with one."
    return f"Done worse without a network: {', '.join(worse)}."


def _network(run: RunReport) -> str:
    how = f"Counted by: {quoted(run.sandbox.observation, 300)}" if run.sandbox else ""
    shown = calls_shown(run, LISTED_CALLS)
    if not shown.total:
        return f"**Network calls attempted:** none. {how}".rstrip()
    rows = table(("when", "task", "to", "by"), map(_call, shown.calls))
    rest = f"\n\nand {shown.more} more." if shown.more else ""
    return f"**Network calls attempted:** {shown.total}. {how}\n\n{rows}{rest}"


def _call(call: NetworkCall) -> tuple[str, ...]:
    return (
        f"{call.at:%H:%M:%S}",
        call.task_id or NOTHING,
        quoted(call.destination, 100),
        quoted(call.command, 120),
    )
