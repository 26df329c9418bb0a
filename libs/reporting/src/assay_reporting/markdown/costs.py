"""With which versions the report was made, what models cost, and where the time went."""

from collections.abc import Iterator

from assay_contracts.reports import Report
from assay_contracts.runs import ModelUse
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import table
from assay_reporting.text import quoted
from assay_reporting.view import model_seconds, only_rehearsed, role_text, run_title, seconds_text


def costs(report: Report) -> str:
    numbers = (phrase("calls"), phrase("tokens in"), phrase("tokens out"), phrase("seconds"))
    return "\n\n".join(
        (
            f"## {phrase('Versions and costs')}",
            phrase("Rubric `{version}`", version=report.rubric_version),
            table(
                (phrase("role"), phrase("model"), phrase("prompt"), *numbers),
                (*map(_use, report.models), _total(report)),
                numbers=numbers,
            ),
            *_times(report),
            *_who_judged(report),
        )
    )


def _use(use: ModelUse) -> tuple[str, ...]:
    return (
        role_text(use.role),
        quoted(use.model),
        use.prompt_version,
        str(use.calls),
        str(use.input_tokens),
        str(use.output_tokens),
        f"{use.seconds:.2f}",
    )


def _total(report: Report) -> tuple[str, ...]:
    return (
        f"**{phrase('total')}**",
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
            yield phrase(
                "The {run} took {wall}: {model} waiting for models, {commands} running commands.",
                run=run_title(run),
                wall=seconds_text(run.timings.wall),
                model=seconds_text(run.timings.model),
                commands=seconds_text(run.timings.commands),
            )


def _who_judged(report: Report) -> Iterator[str]:
    if only_rehearsed(report.models):
        yield phrase(
            "No LLM took part: these are rehearsals by a deterministic model, which exercises what "
            "the skill documents and cannot judge more than that."
        )
