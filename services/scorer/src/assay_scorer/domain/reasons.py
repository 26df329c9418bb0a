"""Why a verdict is what it is, in words."""

from typing import Final

from assay_contracts.scores import OVERALL_PASS_MARK, Scores
from assay_scorer.domain.dependencies import PackageChanges
from assay_scorer.domain.environment import Regression
from assay_scorer.domain.validation import Validation

BROKEN_NAMED: Final = 10
"""Broken skills that a reason names; the report tells of all."""


def undeclared(validation: Validation) -> str:
    named = ", ".join(
        f"{each.package} {each.version} ({each.ecosystem})" for each in validation.forbidden
    )
    return (
        f"Dependencies are checked strictly, and the skill installs what it does not declare and "
        f"nothing it declares needs: {named}."
    )


def reached(scores: Scores) -> str:
    return f"The overall score {scores.overall:g} reaches {OVERALL_PASS_MARK:g}."


def breaks(validation: Validation) -> str:
    assert validation.scores is not None
    named = "; ".join(broken(validation))
    clashes = "".join(
        f" Conflict over {each.package}: "
        + ", ".join(f"{ask.by} asks for {ask.constraint}" for ask in each.asked[:BROKEN_NAMED])
        + "."
        for each in validation.conflicts[:BROKEN_NAMED]
    )
    return (
        f"{reached(validation.scores)} But in the environment it leaves, approved skills no "
        f"longer complete their tasks: {named}.{clashes}"
    )


def broken(validation: Validation) -> list[str]:
    changes = validation.package_changes
    named = [_named(each, changes) for each in validation.broken[:BROKEN_NAMED]]
    more = len(validation.broken) - BROKEN_NAMED
    return [*named, f"and {more} more"] if more > 0 else named


def _named(broken: Regression, changes: PackageChanges) -> str:
    causes = (
        f", {change.package} {change.old_version} → {change.new_version or 'gone'}"
        for change in changes.explaining(broken.skill.name)
    )
    return f"'{broken.skill.name}' ({', '.join(broken.failed_tasks)}{''.join(causes)})"
