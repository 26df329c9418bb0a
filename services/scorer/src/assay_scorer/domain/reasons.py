"""Why a verdict is what it is, in words."""

from collections.abc import Mapping, Sequence
from typing import Final

from assay_contracts.attribution import Defect
from assay_contracts.runs import Installation, InstallFailureCause
from assay_contracts.scores import ONLINE_PASS_MARK, OVERALL_PASS_MARK, Scores
from assay_scorer.domain.dependencies import PackageChanges
from assay_scorer.domain.environment import Regression
from assay_scorer.domain.exercise import Exercised
from assay_scorer.domain.hindrances import Hindered, told
from assay_scorer.domain.validation import Validation

BROKEN_NAMED: Final = 10
"""Broken skills that a reason names; the report tells of all."""


def not_done(validation: Validation) -> str:
    """Why there was no offline run: the skill was not found, or the tasks were not done with it."""
    scores, run = validation.scores, validation.online
    assert scores is not None
    assert run is not None
    if scores.trigger == 0:
        others = {use.skill for outcome in run.outcomes for use in outcome.skills_used}
        instead = f" but {', '.join(sorted(others))}" if others else ""
        return (
            f"No agent used the skill{instead}, so that nothing it offers was tried: its "
            "description does not lead to it. Say in it what the skill does and when to use it."
        )
    return (
        f"Completion is {scores.completion:g}, below {ONLINE_PASS_MARK:g}: the tasks were not done "
        "online with the skill, so there was no offline run."
    )


def undeclared(validation: Validation) -> str:
    named = ", ".join(
        f"{each.package} {each.version} ({each.ecosystem})" for each in validation.forbidden
    )
    return (
        f"Dependencies are checked strictly, and the skill installs what it does not declare and "
        f"nothing it declares needs: {named}."
    )


def defective(defects: Sequence[Defect]) -> str:
    first = next(defect for defect in defects if defect.main_path)
    others = sum(defect.main_path for defect in defects) - 1
    more = f" Nor did {others} more of its programs." if others else ""
    return (
        f"{first.program} never worked: {first.error.rstrip('.')}. Agents did the work around it "
        f"in {', '.join(first.tasks)}, so that good results say nothing about the skill.{more}"
    )


def unexercised(programs: Sequence[str]) -> str:
    named = ", ".join(programs[:BROKEN_NAMED])
    return (
        "Nothing that the skill offers was exercised: agents read it, but ran none of the programs "
        f"that it documents ({named}). Validate it again, or say in SKILL.md when to run them."
    )


TOO_LITTLE: Final = (
    "Nothing that the skill offers was exercised, for there is next to nothing in it: agents do as "
    "well without. Say in SKILL.md what to do, step by step, or bring a program along."
)


def hindered(tasks: Sequence[Hindered]) -> str:
    return (
        f"Something that is not the skill's stood in the way, so that nothing is known of it: "
        f"{told(tasks)}"
    )


def hindered_in_part(tasks: Sequence[Hindered]) -> str:
    """What a skill that passes all the same was hindered by; empty where it was not."""
    return f" It passes although something stood in the way: {told(tasks)}" if tasks else ""


def hindered_again(skills: Sequence[Regression]) -> str:
    named = "; ".join(
        f"'{each.skill.name}': {told(each.hindered)}" for each in skills[:BROKEN_NAMED]
    )
    return f"Approved skills could not be tested again, for limits of our sandbox: {named}"


def not_installed(failed: Installation) -> str:
    """Why what the skill declares could not be installed, and what to do."""
    declared = f" (declared in {', '.join(failed.declared_in)})" if failed.declared_in else ""
    return (
        f"DEPENDENCY_INSTALL_FAILED: {_INSTALL_FAILURES[failed.cause or 'broken']}: "
        f"{', '.join(failed.requirements[:BROKEN_NAMED])}{declared}. {failed.ecosystem} said: "
        f"{failed.failure}"
    )


_INSTALL_FAILURES: Final[Mapping[InstallFailureCause, str]] = {
    "unavailable": "the package index could not be reached, so that nothing is known of the skill; "
    "see to the network of the sandboxes and validate it again",
    "limit": "what the skill declares does not fit into our sandbox, so that nothing is known of "
    "it; raise the limits (ASSAY_SANDBOX_…) and validate it again",
    "missing": "there is no such package or no such version; correct what the skill declares",
    "conflict": "what the skill declares cannot be installed together; widen its versions",
    "broken": "what the skill declares cannot be installed; declare what can",
}


def reached(scores: Scores) -> str:
    return f"The overall score {scores.overall:g} reaches {OVERALL_PASS_MARK:g}."


def exercised_by_rehearsal(shown: Exercised | None) -> str:
    """What was tried, behind the score, where no LLM took part."""
    return f" No language model took part: {shown.reason}" if shown else ""


def still_work(validation: Validation) -> str:
    """Of approved skills none of which is broken."""
    stood = sum(each.stood is not None for each in validation.regressions)
    tested = len(validation.regressions) - stood
    if not stood:
        return f"All {tested} approved skills still work on it."
    unchanged = f"{stood} approved skills were not run: nothing that their results rest on changed."
    return f"All {tested} that were run still work on it; {unchanged}" if tested else unchanged


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
