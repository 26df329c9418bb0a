"""With which versions the report was made, what models cost, and where the time went."""

from collections.abc import Iterator

from assay_contracts.base import ModelUse
from assay_contracts.costs import CostLine, CostReport
from assay_contracts.reports import Report
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import table
from assay_reporting.text import quoted
from assay_reporting.view import (
    model_seconds,
    money_text,
    only_rehearsed,
    role_text,
    run_title,
    seconds_text,
)


def costs(report: Report) -> str:
    parts = (
        f"## {phrase('Versions and costs')}",
        phrase("Rubric `{version}`", version=report.rubric_version),
        *(_models(report) if report.costs is None else _spent(report.costs)),
        *_times(report),
        *_who_judged(report),
    )
    return "\n\n".join(parts)


# -- by phase -----------------------------------------------------------------------------------


def _spent(found: CostReport) -> Iterator[str]:
    numbers = (
        phrase("calls"),
        phrase("tokens in"),
        phrase("cached"),
        phrase("tokens out"),
        phrase("seconds"),
        phrase("money"),
    )
    lines = (_line(line, found.currency) for line in found.lines)
    yield table(
        (phrase("phase"), phrase("role"), phrase("model"), phrase("prompt"), *numbers),
        (*lines, _sum(found)),
        numbers=numbers,
    )
    yield from _notes(found)


def _line(line: CostLine, currency: str) -> tuple[str, ...]:
    phase = phrase(line.phase.replace("_", " "))
    use = line.use
    return (
        phrase("{phase}, discarded", phase=phase) if line.discarded else phase,
        role_text(use.role),
        quoted(use.model),
        use.prompt_version,
        phrase("{calls} ({unanswered} unanswered)", calls=use.calls, unanswered=use.unanswered)
        if use.unanswered
        else str(use.calls),
        str(use.input_tokens),
        str(use.cached_tokens),
        str(use.output_tokens),
        f"{use.seconds:.2f}",
        money_text(line.money, currency),
    )


def _sum(found: CostReport) -> tuple[str, ...]:
    uses = [line.use for line in found.lines]
    return (
        f"**{phrase('total')}**",
        "",
        "",
        "",
        str(found.calls),
        str(sum(use.input_tokens for use in uses)),
        str(sum(use.cached_tokens for use in uses)),
        str(sum(use.output_tokens for use in uses)),
        f"{sum(use.seconds for use in uses):.2f}",
        money_text(found.money, found.currency),
    )


def _notes(found: CostReport) -> Iterator[str]:
    estimated = sum(line.use.estimated_tokens for line in found.lines)
    if estimated:
        yield phrase(
            "For some answers the provider gave no count: about {tokens} tokens more, at the price "
            "of input.",
            tokens=estimated,
        )
    for each in found.unknown:
        yield phrase(
            "**Not known:** what attempts at {phase} cost ({attempts}): the result was lost with "
            "its worker, or had not come when this report was written.",
            phase=phrase(each.phase.replace("_", " ")),
            attempts=each.attempts,
        )
    if found.unpriced:
        yield phrase(
            "No price is set for {models} (ASSAY_MODEL_PRICES).",
            models=", ".join(map(quoted, found.unpriced)),
        )
    if found.money_budget is not None:
        allowed = money_text(found.money_budget, found.currency)
        yield phrase("The validation may cost {money}.", money=allowed)


# -- by role, in reports from before phases were told apart --------------------------------------


def _models(report: Report) -> Iterator[str]:
    numbers = (phrase("calls"), phrase("tokens in"), phrase("tokens out"), phrase("seconds"))
    yield table(
        (phrase("role"), phrase("model"), phrase("prompt"), *numbers),
        (*map(_use, report.models), _total(report)),
        numbers=numbers,
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
