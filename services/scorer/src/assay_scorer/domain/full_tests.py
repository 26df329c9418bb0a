"""A full test: what each approved skill is asked again, and what has become of it since."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from assay_contracts.base import Model
from assay_contracts.full_tests import (
    FullTestCompleted,
    FullTestOutcome,
    FullTestProgressed,
    FullTestSummary,
)
from assay_contracts.grades import RunGraded
from assay_contracts.runs import Package
from assay_contracts.tasks import TaskId
from assay_contracts.validations import FullTestSkill
from assay_scorer.domain.dependencies import package_changes
from assay_scorer.domain.environment import Environment, version_label
from assay_scorer.domain.requirements import key_of
from assay_scorer.domain.revisions import Revision, new_validation
from assay_scorer.domain.validation import Validation

MOST_PACKAGES: Final = 20
"""Changed packages that are listed; the others are counted."""


class SkillToTest(Model):
    """An approved skill that a full test is to be about."""

    revision: Revision
    compared_with: UUID | None
    """Its last validation that came to a verdict."""


class AbandonedTest(Model):
    """The part of a skill in a full test that nobody wants to see the end of."""

    validation_id: UUID
    cancelled_by: str | None
    """Who ended the full test; nobody did where the skill is no longer approved."""

    @property
    def why(self) -> str:
        if self.cancelled_by is None:
            return "The skill is no longer approved: a rollback hid it"
        return f"The full test was cancelled by {self.cancelled_by}"


def queued_test(
    skill: SkillToTest,
    full_test_id: UUID,
    environment: Environment,
    now: datetime,
    traceparent: str | None,
) -> Validation:
    """The validation of one skill in a full test."""
    return new_validation(skill.revision, "full_test", now, traceparent).model_copy(
        update={
            "full_test_id": full_test_id,
            "compared_with": skill.compared_with,
            "environment": environment,
        }
    )


def outcome_of(now: Validation, before: Validation | None) -> FullTestSkill:
    """How a skill fared, told when its validation has ended.

    It got worse if it passed before and no longer does, or scores lower. An end without a verdict
    says nothing about the skill.
    """
    worse = before is not None and _got_worse(now, before)
    return FullTestSkill(
        skill_id=now.skill_id,
        skill_name=now.skill_name,
        validation_id=now.validation_id,
        step=now.step,
        tasks=len(now.tasks),
        verdict=now.verdict,
        reason=now.reason,
        scores=now.scores,
        scores_before=before.scores if before else None,
        worse=worse,
        changes=changes_since(before, now) if before and worse else (),
        completed_at=now.completed_at,
    )


def ended(full_test: FullTestSummary, now: datetime) -> FullTestSummary:
    """The full test once all its skills have ended."""
    status = "cancelled" if full_test.status == "cancelled" else "completed"
    return full_test.model_copy(update={"status": status, "completed_at": now})


def completion_of(
    full_test: FullTestSummary, outcomes: Sequence[FullTestOutcome]
) -> FullTestCompleted:
    """The public fact that this full test has ended."""
    assert full_test.completed_at is not None
    return FullTestCompleted(
        full_test_id=full_test.full_test_id,
        status=full_test.status,
        started_by=full_test.started_by,
        runtime_version=full_test.runtime_version,
        started_at=full_test.started_at,
        completed_at=full_test.completed_at,
        counts=full_test.counts,
        skills=tuple(outcomes),
    )


def progress_of(full_test: FullTestSummary) -> FullTestProgressed:
    return FullTestProgressed(
        full_test_id=full_test.full_test_id,
        status=full_test.status,
        counts=full_test.counts,
        ended=full_test.completed_at is not None,
    )


def changes_since(before: Validation, now: Validation) -> tuple[str, ...]:
    """What is different from when the skill was tested last, a line each: results, then causes."""
    results = (*_tasks_worse(before, now), *_calls_more(before, now))
    causes = (
        *_version(before, now),
        *_packages(before, now),
        *_neighbours(before, now),
        *_models(before, now),
        *_rubric(before, now),
    )
    if not causes:
        causes = ("Environment, models and rubric are as they were.",)
    return (*results, *causes)


def _got_worse(now: Validation, before: Validation) -> bool:
    if now.scores is None or before.scores is None:
        return False
    stopped_passing = before.verdict == "passed" and now.verdict == "failed"
    return stopped_passing or now.scores.overall < before.scores.overall


# -- results ------------------------------------------------------------------------------------


def _tasks_worse(before: Validation, now: Validation) -> Iterator[str]:
    runs = (
        ("online", before.online_graded, now.online_graded),
        ("offline", before.offline_graded, now.offline_graded),
    )
    # New tasks of two full tests have the same numbers.
    same = {task.task_id for task in now.tasks if task in before.tasks}
    for kind, then, again in runs:
        earlier, later = _grades(then), _grades(again)
        for task_id, grade in later.items():
            if task_id in same and grade < earlier.get(task_id, 0):
                yield f"Task {task_id}, {kind}: graded {earlier[task_id]} then, {grade} now."
            elif task_id not in same and grade < max(earlier.values(), default=0):
                yield f"Task {task_id}, {kind}, is new: graded {grade}."
    used_then, used_now = _used(before), _used(now)
    unused = [task for task in used_now if task in same and used_then[task] > used_now[task]]
    if unused:
        yield f"Not used any more in: {', '.join(unused)}."


def _grades(graded: RunGraded | None) -> Mapping[TaskId, int]:
    return {grade.task_id: grade.grade for grade in graded.grades} if graded else {}


def _used(validation: Validation) -> Mapping[TaskId, bool]:
    """For each task of the online run, whether the skill was used."""
    outcomes = validation.online.outcomes if validation.online else ()
    return {outcome.task_id: outcome.used(validation.skill_name) for outcome in outcomes}


def _calls_more(before: Validation, now: Validation) -> Iterator[str]:
    then, again = _calls(before), _calls(now)
    if then is not None and again is not None and again > then:
        yield f"Network calls attempted offline: {then} then, {again} now."


def _calls(validation: Validation) -> int | None:
    return None if validation.offline is None else validation.offline.network_calls_attempted


# -- causes -------------------------------------------------------------------------------------


def _version(before: Validation, now: Validation) -> Iterator[str]:
    then, again = before.environment.runtime_version, now.environment.runtime_version
    if then != again:
        yield f"Runtime version {version_label(then)} → {version_label(again)}."


def _packages(before: Validation, now: Validation) -> Iterator[str]:
    """What changed version between the two online runs, what the skill needs first."""
    if before.online is None or now.online is None:
        return
    then, again = before.online.packages_after, now.online.packages_after
    found = package_changes(then, again, {now.skill_name: now.manifest.dependencies})
    own = found.users[now.skill_name]
    changes = sorted(
        ((key_of(old) not in own, old, new) for old, new in found.changes),
        key=lambda change: (change[0], change[1].ecosystem, change[1].name),
    )
    for foreign, old, new in changes[:MOST_PACKAGES]:
        yield f"Package {_moved(old, new)}{'' if foreign else ', which it needs'}."
    if len(changes) > MOST_PACKAGES:
        yield f"{len(changes) - MOST_PACKAGES} more packages changed."


def _moved(old: Package, new: Package | None) -> str:
    return f"{old.name} ({old.ecosystem}) {old.version} → {new.version if new else 'gone'}"


def _neighbours(before: Validation, now: Validation) -> Iterator[str]:
    """Other skills that agents could choose from."""
    then = {skill.name for skill in before.environment.approved}
    again = {skill.name for skill in now.environment.approved}
    yield from _listed("Approved since", again - then - {now.skill_name})
    yield from _listed("No longer approved", then - again)


def _listed(what: str, names: Iterable[str]) -> Iterator[str]:
    if found := sorted(names):
        yield f"{what}: {', '.join(found)}."


def _models(before: Validation, now: Validation) -> Iterator[str]:
    then, again = _by_role(before), _by_role(now)
    for role in (role for role in then if role in again and then[role] != again[role]):
        yield f"{role.capitalize()}: {then[role]} → {again[role]}."


def _by_role(validation: Validation) -> Mapping[str, str]:
    return {use.role: f"{use.model} with {use.prompt_version}" for use in validation.models}


def _rubric(before: Validation, now: Validation) -> Iterator[str]:
    then, again = before.online_graded, now.online_graded
    if then and again and then.rubric_version != again.rubric_version:
        yield f"Rubric {then.rubric_version} → {again.rubric_version}."
