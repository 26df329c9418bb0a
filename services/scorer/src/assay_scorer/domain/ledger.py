"""What every attempt at every work item has cost, entered once, whatever became of its result."""

from collections.abc import Iterable, Mapping
from typing import Final

from assay_contracts.base import Model, ModelUse
from assay_contracts.costs import CostLine, CostPhase, CostReport, UnknownCost
from assay_contracts.runs import RunFinished
from assay_scorer.domain.inputs import WentQuiet, WorkerResult
from assay_scorer.domain.money import MoneyRules
from assay_scorer.domain.work_items import WorkItem, WorkKind

PHASES: Final[Mapping[WorkKind, CostPhase]] = {
    "planning": "planning",
    "online_run": "online",
    "online_grading": "grading",
    "offline_run": "offline",
    "offline_grading": "grading",
    "repeat_run": "repeats",
    "repeat_grading": "repeats",
    "control_run": "control",
    "control_grading": "control",
    "regression": "regression",
    "regression_grading": "regression",
    "mending": "mending",
    "mending_run": "mending",
    "mending_grading": "mending",
    "reporting": "reporting",
}
"""What each kind of work is charged to; near misses apart, which are tried beside an online run."""


class PhaseUse(Model):
    phase: CostPhase
    use: ModelUse


class Charge(Model):
    """What one attempt cost."""

    what: WorkKind
    key: str
    """Of the work item."""
    skill: str | None = None
    attempt: int
    uses: tuple[PhaseUse, ...] = ()
    discarded: bool = False
    """Its result was not taken."""
    known: bool = True
    """False when nobody is left who could tell."""

    @property
    def tokens(self) -> int:
        return sum(each.use.tokens for each in self.uses)


Ledger = tuple[Charge, ...]


def entered(ledger: Ledger, charge: Charge) -> Ledger:
    """With one more charge. Each attempt counts once; what was not known may become known."""
    for index, each in enumerate(ledger):
        if (each.key, each.attempt) == (charge.key, charge.attempt):
            if each.known or not charge.known:
                return ledger
            return (*ledger[:index], charge, *ledger[index + 1 :])
    return (*ledger, charge)


def charge_of(item: WorkItem, given: WorkerResult | WentQuiet, *, taken: bool) -> Charge:
    """What that attempt at that work cost."""
    charge = _of(item, given.attempt).model_copy(update={"discarded": not taken})
    if isinstance(given, WentQuiet):
        return charge.model_copy(update={"known": False})
    phase = PHASES[item.what]
    if given.failure is None:
        return charge.model_copy(update={"uses": _uses(given, phase)})
    costs = given.failure.costs
    uses = tuple(PhaseUse(phase=phase, use=use) for use in costs or ())
    return charge.model_copy(update={"uses": uses, "known": costs is not None})


def lost(item: WorkItem) -> Charge:
    """Work that was still asked for when nobody waited for it any longer."""
    return _of(item, item.attempt).model_copy(update={"discarded": True, "known": False})


def _of(item: WorkItem, attempt: int) -> Charge:
    return Charge(what=item.what, key=item.key, skill=item.skill, attempt=attempt)


def _uses(result: WorkerResult, phase: CostPhase) -> tuple[PhaseUse, ...]:
    found: list[tuple[CostPhase, ModelUse | None]] = [(phase, result.model)]
    if isinstance(result, RunFinished):
        found.append(("near_misses", result.near_miss_model))
    return tuple(PhaseUse(phase=at, use=use) for at, use in found if use is not None)


def money_spent(ledger: Ledger, rules: MoneyRules) -> float:
    """Everything that has a price."""
    return sum(rules.of(each.use) or 0.0 for charge in ledger for each in charge.uses)


def cost_report(ledger: Ledger, rules: MoneyRules, token_budget: int | None) -> CostReport:
    """All of it, by phase and role, in the order in which phases first cost something."""
    groups: dict[tuple[CostPhase, bool], list[ModelUse]] = {}
    for charge in ledger:
        for each in charge.uses:
            groups.setdefault((each.phase, charge.discarded), []).append(each.use)
    lines = tuple(
        CostLine(phase=phase, use=use, discarded=discarded, money=_rounded(rules.of(use)))
        for (phase, discarded), uses in groups.items()
        for use in summed(uses)
    )
    unpriced = dict.fromkeys(line.use.model for line in lines if line.money is None)
    return CostReport(
        lines=lines,
        unknown=_unknown(ledger),
        currency=rules.currency,
        money=None if unpriced else _rounded(money_spent(ledger, rules)),
        unpriced=tuple(unpriced),
        token_budget=token_budget,
        money_budget=rules.budget,
    )


def _unknown(ledger: Ledger) -> tuple[UnknownCost, ...]:
    attempts: dict[CostPhase, int] = {}
    for charge in ledger:
        if not charge.known:
            phase = PHASES[charge.what]
            attempts[phase] = attempts.get(phase, 0) + 1
    return tuple(UnknownCost(phase=phase, attempts=count) for phase, count in attempts.items())


def summed(uses: Iterable[ModelUse]) -> tuple[ModelUse, ...]:
    """One entry for each role, model and prompt, with what all its uses cost together."""
    totals: dict[tuple[str, str, str], ModelUse] = {}
    for use in uses:
        key = (use.role, use.model, use.prompt_version)
        so_far = totals.get(key)
        totals[key] = use if so_far is None else _added(so_far, use)
    return tuple(totals.values())


def _added(one: ModelUse, other: ModelUse) -> ModelUse:
    counts = (
        "calls",
        "unanswered",
        "input_tokens",
        "cached_tokens",
        "output_tokens",
        "estimated_tokens",
        "seconds",
    )
    return one.model_copy(
        update={name: getattr(one, name) + getattr(other, name) for name in counts}
    )


def _rounded(money: float | None) -> float | None:
    return None if money is None else round(money, 6)
