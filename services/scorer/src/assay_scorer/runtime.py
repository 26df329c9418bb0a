"""Use cases of runtime versions: list them, make another one current, see that they are kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from assay_contracts.rpc import Problem, ProblemDetails, ProblemError
from assay_contracts.runtime import (
    ListVersions,
    RollbackReply,
    RollbackRuntime,
    RuntimeRolledBack,
    RuntimeVersions,
)
from assay_contracts.validations import KeepFinished
from assay_scorer.domain.decisions import Outgoing
from assay_scorer.domain.environment import version_label
from assay_scorer.domain.failures import TRIES
from assay_scorer.domain.runtime import Version, current, made_with, was_superseded
from assay_scorer.domain.work import keep
from assay_scorer.ports import Announcer, Records
from assay_scorer.service import Clock

ASK_AGAIN_AFTER: Final = timedelta(seconds=60)
DOUBLED: Final = 3
"""Times that the wait before asking again doubles: eight minutes are within the margin that an
approval leaves of a candidate's life."""
SYSTEM: Final = "assay"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    records: Records
    announcer: Announcer
    clock: Clock
    end_soon: Callable[[], None]
    """End the parts in a full test of skills that are no longer approved."""

    async def versions(self, _: ListVersions) -> RuntimeVersions:
        versions = await self.records.versions()
        return RuntimeVersions(
            versions=tuple(version.view() for version in versions),
            current_version=version_label(current(versions).number),
            total=len(versions),
        )

    async def rollback(self, question: RollbackRuntime) -> RollbackReply:
        """Raises ProblemError IMAGE_NOT_FOUND or INVALID_STATUS_TRANSITION."""
        now = self.clock()
        async with self.records.transaction() as transaction:
            versions = await transaction.versions()
            before = current(versions)
            target = _target(versions, question.target_version)
            hidden, restored = await transaction.misplaced(made_with(versions, target.number))
            reply = RollbackReply(
                previous_version=version_label(before.number),
                current_version=version_label(target.number),
                hidden_skills=tuple(hidden.values()),
                restored_skills=tuple(restored.values()),
            )
            if question.dry_run:
                return reply
            await transaction.save_version(before.model_copy(update={"current": False}))
            await transaction.save_version(target.model_copy(update={"current": True}))
            await transaction.set_statuses(hidden, "rollback_pending")
            await transaction.set_statuses(restored, "approved")
            await transaction.note(
                "rolled_back",
                question.actor,
                now,
                details={
                    "from": reply.previous_version,
                    "to": reply.current_version,
                    "hidden": ", ".join(reply.hidden_skills),
                    "restored": ", ".join(reply.restored_skills),
                },
            )
            fact = RuntimeRolledBack(**dict(reply), actor=question.actor)
            await transaction.say([Outgoing(fact)], now)
        self.announcer.wake()
        self.end_soon()
        return reply


def _target(versions: Sequence[Version], label: str) -> Version:
    kept = [version for version in versions if version.available]
    there_are = ", ".join(version_label(version.number) for version in kept)
    target = next((each for each in kept if version_label(each.number) == label), None)
    if target is None:
        raise ProblemError(
            Problem(
                code="IMAGE_NOT_FOUND",
                message=f"There is no runtime version {label} any more, or never was. "
                f"There are: {there_are}.",
            )
        )
    if target.current:
        raise ProblemError(
            Problem(
                code="INVALID_STATUS_TRANSITION",
                message=f"{label} is the current runtime version already. Choose another one.",
                details=ProblemDetails(
                    allowed=tuple(version_label(each.number) for each in kept if not each.current)
                ),
            )
        )
    return target


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepVersions:
    """Asks until the sandboxes say that a version's snapshot is kept, or gone."""

    records: Records
    announcer: Announcer
    clock: Clock

    async def __call__(self) -> None:
        """Ask again for what was not answered. Raises Unavailable."""
        now = self.clock()
        waiting = [each for each in await self.records.versions() if _waits(each, now)]
        if not waiting:
            return
        async with self.records.transaction() as transaction:
            for version in await transaction.versions():
                if _waits(version, now):
                    again = version.model_copy(
                        update={"keep_attempt": version.keep_attempt + 1, "keep_asked_at": now}
                    )
                    await transaction.save_version(again)
                    await transaction.say([Outgoing(keep(again))], now)
        self.announcer.wake()

    async def answered(self, result: KeepFinished) -> None:
        """Take in what the sandboxes said. Raises Unavailable.

        A failure says nothing about the snapshot, unless it is that there is none.
        """
        if result.failure is not None and (not result.gone or result.attempt < TRIES):
            return
        async with self.records.transaction() as transaction:
            versions = await transaction.versions()
            version = next((v for v in versions if v.validation_id == result.validation_id), None)
            if version is None or version.kept:
                return
            if result.failure is None:
                if version.available or not was_superseded(versions, version):
                    kept = version.model_copy(update={"kept": True, "available": True})
                    await transaction.save_version(kept)
                return
            if not version.available:
                return
            await transaction.save_version(version.model_copy(update={"available": False}))
            await transaction.note(
                "snapshot_lost",
                SYSTEM,
                self.clock(),
                details={
                    "runtime_version": version_label(version.number),
                    "reason": result.failure.reason,
                },
            )


def _waits(version: Version, now: datetime) -> bool:
    pause = ASK_AGAIN_AFTER * 2 ** min(version.keep_attempt - 1, DOUBLED)
    return version.available and not version.kept and version.keep_asked_at < now - pause
