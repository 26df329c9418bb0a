"""What of the documented was tried, what came of it, and what was not tried and why."""

from typing import Final

from assay_contracts.coverage import CoveredItem, ItemState
from assay_contracts.reports import Report
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import bullets
from assay_reporting.text import quoted

_STATES: Final[dict[ItemState, str]] = {
    "worked": "worked",
    "failed": "did not work",
    "blocked": "could not be tried",
    "unclear": "was run, and shows nothing",
    "not_tried": "was not tried",
}


def coverage(report: Report) -> str:
    covered = report.coverage
    if covered is None or not covered.total:
        return ""
    number = phrase(
        "{exercised} of {total} documented items were exercised ({percent} %); {worked} worked.",
        exercised=covered.exercised,
        total=covered.total,
        percent=covered.percent,
        worked=covered.worked,
    )
    left_out = covered.total - len(covered.items)
    more = [phrase("{count} more are not listed.", count=left_out)] if left_out else []
    listed = bullets([*map(_item, covered.items), *more])
    return f"## {phrase('Coverage')}\n\n{number}\n\n{listed}"


def _item(item: CoveredItem) -> str:
    where = f", {phrase('line {line}', line=item.line)}" if item.line else ""
    optional = f", {phrase('optional')}" if item.optional else ""
    tasks = f" ({', '.join(item.tasks)})" if item.tasks else ""
    reason = f": {quoted(item.reason, 300)}" if item.reason else ""
    return (
        f"{phrase(item.kind.replace('_', ' '))}{where}{optional}: {quoted(item.what, 200)} "
        f"{phrase(_STATES[item.state])}"
        f"{tasks}{reason}"
    )
