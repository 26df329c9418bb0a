"""The top of the report: the verdict, the scores, and the report writer's words."""

from assay_contracts.reports import Report
from assay_contracts.scores import OVERALL_PASS_MARK, Scores
from assay_reporting.language import phrase
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
    title = phrase(
        "{verdict}: {skill} (revision {revision})",
        verdict=phrase(report.verdict.upper()),
        skill=quoted(report.skill_name),
        revision=report.revision,
    )
    facts = phrase(
        "Validation `{validation}` · bundle `{bundle}` · {at} UTC · {seconds}",
        validation=report.validation_id,
        bundle=report.bundle_sha256[:12],
        at=f"{report.completed_at:%Y-%m-%d %H:%M:%S}",
        seconds=seconds_text(seconds_taken(report)),
    )
    return f"# {title}\n\n{quoted(report.reason, 2000)}\n\n{facts}"


def score(report: Report) -> str:
    return f"## {phrase('Score')}\n\n{_scores(report.scores)}"


def _scores(scores: Scores | None) -> str:
    if scores is None:
        return phrase("None: the skill could not be judged. The reason stands above.")
    overall = overall_row(scores)
    numbers = (phrase("weight"), phrase("score"))
    return table(
        (phrase("dimension"), *numbers),
        (
            *((row.name, f"{row.weight}%", _with_note(row)) for row in score_rows(scores)),
            (
                f"**{overall.name}**",
                phrase("pass at {mark}", mark=f"{OVERALL_PASS_MARK:g}"),
                f"**{overall.text}**",
            ),
        ),
        numbers=numbers,
    )


def _with_note(row: ScoreRow) -> str:
    return f"{row.text} ({row.note})" if row.note else row.text


def prose(report: Report) -> str:
    if report.prose is None:
        if report.scores is None:
            return ""
        return phrase(
            "_No summary: the report writer did not answer, so this report is made from the data "
            "alone._"
        )
    parts = [f"## {phrase('Summary')}\n\n{quoted(report.prose.summary, 500)}"]
    for title, lines in (
        (phrase("Strengths"), report.prose.strengths),
        (phrase("Weaknesses"), report.prose.weaknesses),
        (phrase("Recommendations"), report.prose.recommendations),
    ):
        if lines:
            parts.append(f"### {title}\n\n{bullets(quoted(line, 500) for line in lines)}")
    return "\n\n".join(parts)
