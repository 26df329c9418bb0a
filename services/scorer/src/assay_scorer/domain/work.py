"""Every piece of work that the conductor asks for, as the message that asks for it."""

from collections.abc import Callable
from typing import Final, TypedDict
from uuid import UUID

from assay_contracts.base import Lane, Work
from assay_contracts.grades import GradingRequested
from assay_contracts.reports import ReportRequested
from assay_contracts.runs import RunRequested
from assay_contracts.validations import CleanupRequested, KeepRequested, ValidationRequested
from assay_scorer.domain.report import build_report
from assay_scorer.domain.runtime import Version
from assay_scorer.domain.validation import Piece, PieceOfWork, Validation, time_limit

TASK_COUNT: Final = 3


def open_work(validation: Validation) -> tuple[Work, ...]:
    """Everything asked for and not answered, as it was asked for last."""
    return tuple(work_for(validation, piece) for piece in validation.pieces)


def clean_up(validation: Validation, snapshot: str) -> CleanupRequested:
    """Ask for the deletion of a snapshot that this validation left."""
    return _deletion(validation.validation_id, validation.skill_id, validation.skill_name, snapshot)


def clean_up_version(version: Version) -> CleanupRequested:
    """Ask for the deletion of a runtime version's snapshot."""
    return _deletion(*_origin(version))


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
    validation_id: UUID, skill_id: UUID, skill_name: str, snapshot: str
) -> CleanupRequested:
    return CleanupRequested(
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


def work_for(validation: Validation, piece: Piece) -> Work:
    """What to ask for that piece."""
    return _WORK[piece.what](validation, piece)


def _plan_work(validation: Validation, piece: Piece) -> Work:
    return ValidationRequested(
        **_common(validation, piece), bundle=validation.bundle, task_count=TASK_COUNT
    )


def _online_work(validation: Validation, piece: Piece) -> Work:
    return RunRequested(
        **_common(validation, piece),
        kind="online",
        tasks=validation.tasks,
        skills=validation.environment.mounted(validation.skill_name, validation.bundle),
        base=validation.environment.snapshot,
        # The attempt is in the name: two workers on one step must not write one snapshot.
        capture=f"{validation.validation_id}-{piece.attempt}",
        time_limit_s=time_limit(validation.manifest).total_seconds(),
    )


def _offline_work(validation: Validation, piece: Piece) -> Work:
    return RunRequested(
        **_common(validation, piece),
        kind="offline",
        tasks=validation.tasks,
        skills=validation.environment.mounted(validation.skill_name, validation.bundle),
        base=validation.candidate,
        time_limit_s=time_limit(validation.manifest).total_seconds(),
    )


def _regression_work(validation: Validation, piece: Piece) -> Work:
    skill = validation.regression(piece.skill).skill
    return RunRequested(
        **_about(validation, piece),
        kind="regression",
        tasks=skill.tasks,
        skills=validation.environment.mounted(validation.skill_name, validation.bundle),
        base=validation.candidate,
        time_limit_s=skill.time_limit_s,
    )


def _online_grading(validation: Validation, piece: Piece) -> Work:
    assert validation.online is not None
    return GradingRequested(
        **_common(validation, piece),
        run_kind="online",
        tasks=validation.tasks,
        outcomes=validation.online.outcomes,
    )


def _offline_grading(validation: Validation, piece: Piece) -> Work:
    assert validation.offline is not None
    return GradingRequested(
        **_common(validation, piece),
        run_kind="offline",
        tasks=validation.tasks,
        outcomes=validation.offline.outcomes,
    )


def _regression_grading(validation: Validation, piece: Piece) -> Work:
    regression = validation.regression(piece.skill)
    assert regression.run is not None
    return GradingRequested(
        **_about(validation, piece),
        run_kind="regression",
        tasks=regression.skill.tasks,
        outcomes=regression.run.outcomes,
    )


def _report_work(validation: Validation, piece: Piece) -> Work:
    return ReportRequested(**_common(validation, piece), report=build_report(validation))


_WORK: Final[dict[PieceOfWork, Callable[[Validation, Piece], Work]]] = {
    "planning": _plan_work,
    "online_run": _online_work,
    "online_grading": _online_grading,
    "offline_run": _offline_work,
    "offline_grading": _offline_grading,
    "regression": _regression_work,
    "regression_grading": _regression_grading,
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


def _common(validation: Validation, piece: Piece) -> _Common:
    return {
        "validation_id": validation.validation_id,
        "skill_id": validation.skill_id,
        "skill_name": validation.skill_name,
        "step_id": validation.step_id(piece),
        "attempt": piece.attempt,
        "lane": piece.lane,
        "token_budget": validation.tokens_allowed(piece),
    }


def _about(validation: Validation, piece: Piece) -> _Common:
    """As `_common`, about the approved skill that the piece is about."""
    skill = validation.regression(piece.skill).skill
    common = _common(validation, piece)
    common.update({"skill_id": skill.skill_id, "skill_name": skill.name})
    return common
