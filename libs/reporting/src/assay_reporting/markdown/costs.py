"""With which versions the report was made, what models cost, and where the time went."""

from collections.abc import Iterator

from assay_contracts.reports import Report
from assay_contracts.runs import ModelUse
from assay_reporting.markdown.layout import table
from assay_reporting.text import quoted
from assay_reporting.view import model_seconds, only_rehearsed, run_title, seconds_text


def costs(report: Report) -> str:
    return "\n\n".join(
        (
            "## Versions and costs",
            f"Rubric `{report.rubric_version}`",
            table(
                ("role", "model", "prompt", "calls", "tokens in", "tokens out", "seconds"),
                (*map(_use, report.models), _total(report)),
                numbers=("calls", "tokens in", "tokens out", "seconds"),
            ),
            *_times(report),
            *_who_judged(report),
        )
    )


def _use(use: ModelUse) -> tuple[str, ...]:
    return (
        use.role,
        quoted(use.model),
        use.prompt_version,
        str(use.calls),
        str(use.input_tokens),
        str(use.output_tokens),
        f"{use.seconds:.2f}",
    )


def _total(report: Report) -> tuple[str, ...]:
    return (
        "**total**",
        "",
        "",
        str(sum(use.calls for use in report.models)),
        str(sum(use.input_tokens for use in report.models)),
        str(sum(use.output_tokens for use in report.models)),
        f"{model_seconds(report):.2f}",
    )


def _times(report: Report) -> Iterator[str]:
    for run in report.runs:
        if run.timings:
            yield (
                f"The {run_title(run)} took {seconds_text(run.timings.wall)}: "
                f"{seconds_text(run.timings.model)} waiting for models, "
                f"{seconds_text(run.timings.commands)} running commands."
            )


def _who_judged(report: Report) -> Iterator[str]:
    if only_rehearsed(report.models):
        yield (
            "No LLM took part: these are rehearsals by a deterministic model, which exercises what "
            "the skill documents and cannot judge more than that."
        )
