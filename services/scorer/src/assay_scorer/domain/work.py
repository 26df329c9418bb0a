"""All work that the conductor asks for, as the messages that ask for it."""

from collections.abc import Callable
from typing import Final, TypedDict
from uuid import UUID

from assay_contracts.base import Lane, Work
from assay_contracts.full_tests import NEW_TASKS, FullTestOutcome
from assay_contracts.grades import GradingRequested
from assay_contracts.reports import ReportRequested
from assay_contracts.runs import RunRequested
from assay_contracts.tasks import Task
from assay_contracts.validations import CleanupRequested, KeepRequested, ValidationRequested
from assay_scorer.domain.budgets import tokens_allowed
from assay_scorer.domain.message_size import cut_to_fit
from assay_scorer.domain.report import build_report
from assay_scorer.domain.runtime_versions import Version
from assay_scorer.domain.time_limits import time_limit
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work_items import WorkItem, WorkKind

TASK_COUNT: Final = 3


def open_work(validation: Validation) -> tuple[Work, ...]:
    """Everything asked for and not answered, as it was asked for last."""
    return tuple(work_for(validation, item) for item in validation.pieces)


def clean_up(validation: Validation, snapshot: str) -> CleanupRequested:
    """Ask for the deletion of a snapshot that this validation left."""
    origin = (validation.validation_id, validation.skill_id, validation.skill_name)
    return _deletion(*origin, snapshot, validation.lane)


def clean_up_after(tested: FullTestOutcome, snapshot: str) -> CleanupRequested:
    """As `clean_up`, for a skill that was deleted with its validation while it was tested."""
    origin = (tested.validation_id, tested.skill_id, tested.skill_name)
    return _deletion(*origin, snapshot, "background")


def clean_up_again(asked: CleanupRequested) -> CleanupRequested:
    """The next attempt at what was asked for."""
    return CleanupRequested.model_validate(
        {
            **asked.model_dump(exclude={"message_id", "occurred_at"}),
            "attempt": asked.attempt + 1,
        }
    )


def clean_up_version(version: Version) -> CleanupRequested:
    """Ask for the deletion of a runtime version's snapshot."""
    return _deletion(*_origin(version), "shared")


def keep(version: Version) -> KeepRequested:
    """Ask for a runtime version's snapshot to be kept."""
    validation_id, skill_id, skill_name, snapshot = _origin(version)
    return KeepRequested(
        validation_id=validation_id,
        skill_id=skill_id,
        skill_name=skill_name,
        step_id=f"{validation_id}.keep.{snapshot}",
        attempt=version.keep_attempt,
        snapshots=(snapshot,),
    )


def _deletion(
    validation_id: UUID, skill_id: UUID, skill_name: str, snapshot: str, lane: Lane
) -> CleanupRequested:
    return CleanupRequested(
        lane=lane,
        validation_id=validation_id,
        skill_id=skill_id,
        skill_name=skill_name,
        step_id=f"{validation_id}.cleanup.{snapshot}",
        attempt=1,
        snapshots=(snapshot,),
    )


def _origin(version: Version) -> tuple[UUID, UUID, str, str]:
    assert version.validation_id is not None
    assert version.skill_id is not None
    assert version.skill_name is not None
    assert version.snapshot is not None
    return version.validation_id, version.skill_id, version.skill_name, version.snapshot


def work_for(validation: Validation, item: WorkItem) -> Work:
    """What to ask for that item."""
    return _WORK[item.what](validation, item)


def _plan_work(validation: Validation, item: WorkItem) -> Work:
    return ValidationRequested(
        **_common(validation, item),
        bundle=validation.bundle,
        task_count=NEW_TASKS if validation.is_full_test else TASK_COUNT,
        known_tasks=validation.stored_tasks,
    )


def _online_work(validation: Validation, item: WorkItem) -> Work:
    return RunRequested(
        **_common(validation, item),
        kind="online",
        tasks=validation.tasks,
        near_misses=validation.near_misses,
        skills=validation.environment.mounted(validation.skill_name, validation.bundle),
        base=validation.environment.snapshot,
        without=validation.environment.without,
        # The attempt is in the name: two workers on one step must not write one snapshot.
        capture=f"{validation.validation_id}-{item.attempt}",
        dependencies=validation.manifest.dependencies,
        time_limit_s=time_limit(validation.manifest).total_seconds(),
    )


def _repeat_work(validation: Validation, item: WorkItem) -> Work:
    return RunRequested(
        **_common(validation, item),
        kind="online",
        tasks=_repeated_tasks(validation),
        skills=validation.environment.mounted(validation.skill_name, validation.bundle),
        base=validation.environment.snapshot,
        dependencies=validation.manifest.dependencies,
        time_limit_s=time_limit(validation.manifest).total_seconds(),
    )


def _repeat_grading(validation: Validation, item: WorkItem) -> Work:
    assert validation.repeats is not None
    (repeat,) = (each for each in validation.repeats.tries if each.number == item.number)
    assert repeat.run is not None
    return cut_to_fit(
        GradingRequested(
            **_common(validation, item),
            run_kind="online",
            tasks=_repeated_tasks(validation),
            outcomes=repeat.run.outcomes,
        )
    )


def _repeated_tasks(validation: Validation) -> tuple[Task, ...]:
    assert validation.repeats is not None
    return tuple(task for task in validation.tasks if task.task_id in validation.repeats.task_ids)


def _control_work(validation: Validation, item: WorkItem) -> Work:
    return RunRequested(
        **_common(validation, item),
        kind="control",
        tasks=validation.tasks,
        skills=validation.environment.mounted_without(validation.skill_name),
        base=validation.environment.snapshot,
        without=validation.environment.without,
        # Everything else is as it is with the skill: what it declares is there too.
        dependencies=validation.manifest.dependencies,
        time_limit_s=time_limit(validation.manifest).total_seconds(),
    )


def _offline_work(validation: Validation, item: WorkItem) -> Work:
    return RunRequested(
        **_common(validation, item),
        kind="offline",
        tasks=validation.tasks,
        skills=validation.environment.mounted(validation.skill_name, validation.bundle),
        base=validation.candidate,
        time_limit_s=time_limit(validation.manifest).total_seconds(),
    )


def _regression_work(validation: Validation, item: WorkItem) -> Work:
    skill = validation.tested(item.skill)
    mending = validation.mending
    return RunRequested(
        **_about(validation, item),
        kind="regression",
        tasks=skill.tasks,
        skills=validation.environment.mounted(validation.skill_name, validation.bundle),
        base=mending.snapshot if mending else validation.candidate,
        time_limit_s=skill.time_limit_s,
    )


def _mending_work(validation: Validation, item: WorkItem) -> Work:
    assert validation.mending is not None
    return RunRequested(
        **_common(validation, item),
        kind="mending",
        tasks=(),
        skills=validation.environment.mounted(validation.skill_name, validation.bundle),
        base=validation.candidate,
        install=validation.mending.installs,
        capture=f"{validation.validation_id}-mended-{item.attempt}",
        time_limit_s=time_limit(validation.manifest).total_seconds(),
    )


def _online_grading(validation: Validation, item: WorkItem) -> Work:
    assert validation.online is not None
    return cut_to_fit(
        GradingRequested(
            **_common(validation, item),
            run_kind="online",
            tasks=validation.tasks,
            outcomes=validation.online.outcomes,
        )
    )


def _offline_grading(validation: Validation, item: WorkItem) -> Work:
    assert validation.offline is not None
    return cut_to_fit(
        GradingRequested(
            **_common(validation, item),
            run_kind="offline",
            tasks=validation.tasks,
            outcomes=validation.offline.outcomes,
        )
    )


def _control_grading(validation: Validation, item: WorkItem) -> Work:
    assert validation.control is not None
    assert validation.control.run is not None
    return cut_to_fit(
        GradingRequested(
            **_common(validation, item),
            run_kind="control",
            tasks=validation.tasks,
            outcomes=validation.control.run.outcomes,
        )
    )


def _regression_grading(validation: Validation, item: WorkItem) -> Work:
    mending = validation.step == "mending"
    again = validation.retest(item.skill) if mending else validation.regression(item.skill)
    assert again.run is not None
    return cut_to_fit(
        GradingRequested(
            **_about(validation, item),
            run_kind="regression",
            tasks=validation.tested(item.skill).tasks,
            outcomes=again.run.outcomes,
        )
    )


def _report_work(validation: Validation, item: WorkItem) -> Work:
    report = build_report(validation)
    # What broke first: it is the last to be cut, and the first to be written about.
    broken_first = tuple(sorted(report.regressions, key=lambda each: each.passed))
    ordered = report.model_copy(update={"regressions": broken_first})
    return cut_to_fit(ReportRequested(**_common(validation, item), report=ordered))


_WORK: Final[dict[WorkKind, Callable[[Validation, WorkItem], Work]]] = {
    "planning": _plan_work,
    "online_run": _online_work,
    "online_grading": _online_grading,
    "offline_run": _offline_work,
    "offline_grading": _offline_grading,
    "repeat_run": _repeat_work,
    "repeat_grading": _repeat_grading,
    "regression": _regression_work,
    "regression_grading": _regression_grading,
    "mending": _mending_work,
    "mending_run": _regression_work,
    "mending_grading": _regression_grading,
    "control_run": _control_work,
    "control_grading": _control_grading,
    "reporting": _report_work,
}


class _Common(TypedDict):
    validation_id: UUID
    skill_id: UUID
    skill_name: str
    step_id: str
    attempt: int
    lane: Lane
    token_budget: int | None


def _common(validation: Validation, item: WorkItem) -> _Common:
    return {
        "validation_id": validation.validation_id,
        "skill_id": validation.skill_id,
        "skill_name": validation.skill_name,
        "step_id": validation.step_id(item),
        "attempt": item.attempt,
        "lane": item.lane,
        "token_budget": tokens_allowed(validation, item),
    }


def _about(validation: Validation, item: WorkItem) -> _Common:
    """As `_common`, about the skill that is tested again."""
    skill = validation.tested(item.skill)
    common = _common(validation, item)
    common.update({"skill_id": skill.skill_id, "skill_name": skill.name})
    return common
