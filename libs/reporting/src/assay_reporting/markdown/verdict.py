"""The top of the report: the verdict, the scores, and the report writer's words."""

from assay_contracts.reports import Report
from assay_contracts.scores import OVERALL_PASS_MARK, Scores
from assay_reporting.markdown.layout import bullets, table
from assay_reporting.text import quoted
from assay_reporting.view import (
    ScoreRow,
    overall_row,
    score_rows,
    seconds_taken,
    seconds_text,
)


def verdict(report: Report) -> str:
    return (
        f"# {report.verdict.upper()}: {quoted(report.skill_name)} (revision {report.revision})\n\n"
        f"{quoted(report.reason, 2000)}\n\n"
        f"Validation `{report.validation_id}` · bundle `{report.bundle_sha256[:12]}` · "
        f"{report.completed_at:%Y-%m-%d %H:%M:%S} UTC · {seconds_text(seconds_taken(report))}"
    )


def score(report: Report) -> str:
    return f"## Score\n\n{_scores(report.scores)}"


def _scores(scores: Scores | None) -> str:
    if scores is None:
        return "None: the platform failed before the skill could be judged."
    overall = overall_row(scores)
    return table(
        ("dimension", "weight", "score"),
        (
            *((row.name, f"{row.weight}%", _with_note(row)) for row in score_rows(scores)),
            (f"**{overall.name}**", f"pass at {OVERALL_PASS_MARK:g}", f"**{overall.text}**"),
        ),
        numbers=("weight", "score"),
    )


def _with_note(row: ScoreRow) -> str:
    return f"{row.text} ({row.note})" if row.note else row.text


def prose(report: Report) -> str:
    if report.prose is None:
        return (
            "_No summary: the report writer did not answer, so this report is made from the data "
            "alone._"
            if report.scores is not None
            else ""
        )
    parts = [f"## Summary\n\n{quoted(report.prose.summary, 500)}"]
    for title, lines in (
        ("Strengths", report.prose.strengths),
        ("Weaknesses", report.prose.weaknesses),
        ("Recommendations", report.prose.recommendations),
    ):
        if lines:
            parts.append(f"### {title}\n\n{bullets(quoted(line, 500) for line in lines)}")
    return "\n\n".join(parts)
