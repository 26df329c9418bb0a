"""Runtime versions: list them, make another one current, see that they are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

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
from assay_scorer.domain.runtime_versions import (
    Version,
    changed_by_rollback,
    current,
    is_to_be_asked_for,
    made_with,
    was_superseded,
)
from assay_scorer.domain.work import keep
from assay_scorer.ports.audit import AuditLog
from assay_scorer.ports.outbox import Outbox
from assay_scorer.ports.runtime_versions import RuntimeVersionChanges, RuntimeVersionQueries
from assay_scorer.ports.skills import SkillChanges
from assay_scorer.ports.timing import Clock, Wake
from assay_scorer.ports.transactions import Transactions
from assay_scorer.use_cases.announcing import Announce

SYSTEM: Final = "assay"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindVersions:
    versions: RuntimeVersionQueries

    async def __call__(self, _: ListVersions) -> RuntimeVersions:
        versions = await self.versions.versions()
        return RuntimeVersions(
            versions=tuple(version.view() for version in versions),
            current_version=version_label(current(versions).number),
            total=len(versions),
        )


class RollbackTransaction(RuntimeVersionChanges, SkillChanges, AuditLog, Outbox, Protocol):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    records: Transactions[RollbackTransaction]
    announce: Announce
    clock: Clock
    wake_test_ending: Wake
    """There may be parts in a full test of skills that are no longer approved."""

    async def __call__(self, question: RollbackRuntime) -> RollbackReply:
        """Raises ProblemError IMAGE_NOT_FOUND or INVALID_STATUS_TRANSITION."""
        now = self.clock()
        async with self.records.transaction() as transaction:
            versions = await transaction.lock_versions()
            before = current(versions)
            target = _target(versions, question.target_version)
            hidden, restored = changed_by_rollback(
                await transaction.lock_placed_skills(), made_with(versions, target.number)
            )
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
            await transaction.log_action(
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
            await transaction.add_to_outbox([Outgoing(fact)], now)
        await self.announce()
        self.wake_test_ending()
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


class KeepingTransaction(RuntimeVersionChanges, AuditLog, Outbox, Protocol):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class AskToKeepVersions:
    """Asks until the sandboxes say that a version's snapshot is kept, or gone."""

    versions: RuntimeVersionQueries
    records: Transactions[KeepingTransaction]
    announce: Announce
    clock: Clock

    async def __call__(self) -> None:
        """Ask again for what was not answered. Raises Unavailable."""
        now = self.clock()
        if not any(is_to_be_asked_for(each, now) for each in await self.versions.versions()):
            return
        async with self.records.transaction() as transaction:
            for version in await transaction.lock_versions():
                if is_to_be_asked_for(version, now):
                    again = version.model_copy(
                        update={"keep_attempt": version.keep_attempt + 1, "keep_asked_at": now}
                    )
                    await transaction.save_version(again)
                    await transaction.add_to_outbox([Outgoing(keep(again))], now)
        await self.announce()


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeKeepResult:
    """Takes in what the sandboxes said about a version's snapshot."""

    records: Transactions[KeepingTransaction]
    clock: Clock

    async def __call__(self, result: KeepFinished) -> None:
        """Raises Unavailable.

        A failure says nothing about the snapshot, unless it is that there is none.
        """
        if result.failure is not None and (not result.gone or result.attempt < TRIES):
            return
        async with self.records.transaction() as transaction:
            versions = await transaction.lock_versions()
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
            await transaction.log_action(
                "snapshot_lost",
                SYSTEM,
                self.clock(),
                details={
                    "runtime_version": version_label(version.number),
                    "reason": result.failure.reason,
                },
            )
