"""What a rehearsed run shows of a skill: the rule behind the three outcomes without an LLM.

The built-in model follows the document and does nothing else. So a skill *passes* only if what it
documents was exercised and worked; it *fails* if something was exercised as documented, with
nothing missing, and did not work; of every other skill nothing is known.

| what the coverage says | outcome |
|---|---|
| something that the skill does not call optional failed | failed |
| at least half of its programs worked | worked |
| anything else | unknown |

Programs that the bundle brings along count whether or not SKILL.md shows how to run them: taking
them out of the document helps nobody.
"""

from dataclasses import dataclass
from typing import Final, Literal

from assay_contracts.coverage import Coverage, CoveredItem, ItemState

Outcome = Literal["worked", "failed", "unknown"]

SET_A_MODEL: Final = (
    "Set a language model (ASSAY_JUDGE_MODEL, ASSAY_EXECUTOR_MODEL) and validate it again."
)
_LEFT_OPEN: Final[tuple[tuple[ItemState, str], ...]] = (
    ("blocked", "could not be tried"),
    ("unclear", "was run, and shows nothing"),
)
_NAMED: Final = 2


@dataclass(frozen=True, slots=True)
class Exercised:
    """What is known of a skill after its rehearsal, and why."""

    outcome: Outcome
    reason: str
    offers_nothing: bool = False
    """It documents and brings along nothing that could be run."""


def exercised(coverage: Coverage) -> Exercised:
    """What the coverage of a rehearsed online run says of the skill."""
    broken = [each for each in coverage.items if each.state == "failed" and not each.optional]
    if broken:
        return Exercised("failed", _did_not_work(broken))
    if coverage.programs_worked and 2 * coverage.programs_worked >= coverage.programs:
        return Exercised("worked", _worked(coverage))
    return Exercised("unknown", _unknown(coverage), offers_nothing=not coverage.programs)


def _did_not_work(broken: list[CoveredItem]) -> str:
    first, *others = broken
    where = f" (line {first.line} of SKILL.md)" if first.line else ""
    more = f" Nor did {len(others)} more." if others else ""
    return (
        f"What the skill documents does not work: `{first.what}`{where}: "
        f"{first.reason.rstrip('.')}.{more}"
    )


def _worked(coverage: Coverage) -> str:
    return (
        f"{coverage.worked} of {coverage.total} documented items were tried and worked, "
        f"{coverage.programs_worked} of {coverage.programs} programs among them."
    )


def _unknown(coverage: Coverage) -> str:
    if not coverage.programs:
        return (
            "Nothing in it can be tried without a language model: it documents no command or code "
            f"that would show what it is for. {SET_A_MODEL}"
        )
    known = [
        f"`{each.what}` {words}: {each.reason.rstrip('.')}"
        for state, words in _LEFT_OPEN
        for each in coverage.items
        if each.state == state and not each.optional
    ]
    share = (
        f"Only {coverage.programs_worked} of its {coverage.programs} programs could be exercised."
        if coverage.programs_worked
        else "Nothing that it documents could be exercised."
    )
    rest = [
        f"`{each.what}` was not tried: {each.reason.rstrip('.')}"
        for each in coverage.items
        if each.state == "not_tried" and each.program
    ]
    told = "; ".join([*known, *rest][:_NAMED])
    return f"{share} {told}. Provide what is missing, or let a language model try: {SET_A_MODEL}"
