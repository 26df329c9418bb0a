"""The report as Markdown, made from its data.

Numbers come from code; words from skills, sandboxes and models are quoted so that they stay words.
"""

from collections.abc import Callable
from typing import Final

from assay_contracts.reports import Language, Report
from assay_reporting.language import speaking
from assay_reporting.markdown.approved_skills import approved_skills
from assay_reporting.markdown.confidence import confidence
from assay_reporting.markdown.costs import costs
from assay_reporting.markdown.coverage import coverage
from assay_reporting.markdown.defects import defects
from assay_reporting.markdown.dependencies import dependencies
from assay_reporting.markdown.format_findings import format_findings
from assay_reporting.markdown.lift import lift
from assay_reporting.markdown.offline import offline_findings
from assay_reporting.markdown.runs import runs
from assay_reporting.markdown.tasks import tasks
from assay_reporting.markdown.trigger import trigger
from assay_reporting.markdown.verdict import prose, score, verdict

SECTIONS: Final[tuple[Callable[[Report], str], ...]] = (
    verdict,
    score,
    prose,
    confidence,
    coverage,
    defects,
    trigger,
    lift,
    tasks,
    runs,
    approved_skills,
    offline_findings,
    dependencies,
    format_findings,
    costs,
)
"""In this order: the verdict first, then numbers, then the evidence. An empty one is left out."""


def render_markdown(report: Report, language: Language = "en") -> str:
    """The whole report, for a person who reads this language."""
    with speaking(language):
        sections = [section(report) for section in SECTIONS]
    return "\n\n".join(section for section in sections if section) + "\n"
