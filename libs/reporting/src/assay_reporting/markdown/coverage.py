"""What of the documented was tried, what came of it, and what was not tried and why."""

from typing import Final

from assay_contracts.coverage import CoveredItem, ItemState
from assay_contracts.reports import Report
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
    number = (
        f"{covered.exercised} of {covered.total} documented items were exercised "
        f"({covered.percent} %); {covered.worked} worked."
    )
    left_out = covered.total - len(covered.items)
    more = [f"{left_out} more are not listed."] if left_out else []
    return f"## Coverage\n\n{number}\n\n{bullets([*map(_item, covered.items), *more])}"


def _item(item: CoveredItem) -> str:
    where = f", line {item.line}" if item.line else ""
    optional = ", optional" if item.optional else ""
    tasks = f" ({', '.join(item.tasks)})" if item.tasks else ""
    reason = f": {quoted(item.reason, 300)}" if item.reason else ""
    return (
        f"{item.kind}{where}{optional}: {quoted(item.what, 200)} {_STATES[item.state]}"
        f"{tasks}{reason}"
    )
