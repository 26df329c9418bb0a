"""Finds validations that nothing moves any more, and moves them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import structlog

from assay_scorer.domain.inputs import DeadlinePassed, GivenUp, WentQuiet
from assay_scorer.domain.work import open_work
from assay_scorer.ports.outbox import SaidMessages, WorkOnBus
from assay_scorer.ports.timing import Clock
from assay_scorer.ports.validations import OpenValidations
from assay_scorer.use_cases.admission import StartQueued
from assay_scorer.use_cases.conducting import Conduct
from assay_scorer.use_cases.full_tests import EndAbandonedTests
from assay_scorer.use_cases.runtime_versions import AskToKeepVersions
from assay_servicekit.periodic import TRANSIENT, Periodic, periodic

log = structlog.get_logger(__name__)

Suspect = tuple[UUID, str, int]


class Reconciler:
    """Every few seconds: restores the topology, ends what is out of time, re-issues lost work.

    Work is lost when its message is gone from the bus and no result came: a worker says its
    result before it acknowledges, so this happens only if the bus lost something. It must look
    lost twice in a row, to give a result on its way the time to be taken in.
    """

    def __init__(
        self,
        *,
        validations: OpenValidations,
        said: SaidMessages,
        bus: WorkOnBus,
        conduct: Conduct,
        start_queued: StartQueued,
        end_abandoned_tests: EndAbandonedTests,
        ask_to_keep_versions: AskToKeepVersions,
        clock: Clock,
    ) -> None:
        self._validations = validations
        self._said = said
        self._bus = bus
        self._conduct = conduct
        self._start_queued = start_queued
        self._end_abandoned_tests = end_abandoned_tests
        self._ask_to_keep_versions = ask_to_keep_versions
        self._clock = clock
        self._suspects: set[Suspect] = set()

    def worker(self, every: timedelta) -> Periodic:
        return periodic("reconciler", self.reconcile, every=every)

    async def reconcile(self) -> None:
        """One pass. Raises Unavailable, `nats.errors.Error`, TimeoutError."""
        await self._bus.restore_topology()
        suspects: set[Suspect] = set()
        for validation_id, deadline in await self._validations.deadlines():
            if deadline is not None and deadline < self._clock():
                await self._end(validation_id)
            else:
                with _on_its_own(validation_id=str(validation_id)):
                    suspects |= await self._lost(validation_id)
        for suspect in suspects & self._suspects:
            validation_id, step_id, attempt = suspect
            log.warning("work_lost", step_id=step_id, attempt=attempt)
            with _on_its_own(validation_id=str(validation_id)):
                await self._conduct(validation_id, WentQuiet(step_id=step_id, attempt=attempt))
        self._suspects = suspects - self._suspects
        with _on_its_own(what="abandoned full tests"):
            await self._end_abandoned_tests()
        with _on_its_own(what="admission"):
            await self._start_queued()
        await self._ask_to_keep_versions()

    async def _end(self, validation_id: UUID) -> None:
        log.warning("deadline_passed", validation_id=str(validation_id))
        # The second ends only what the first cannot; else that would be tried at every pass.
        for given in (DeadlinePassed(), GivenUp()):
            with _on_its_own(validation_id=str(validation_id)):
                await self._conduct(validation_id, given)

    async def _lost(self, validation_id: UUID) -> set[Suspect]:
        """The open work that the bus took and has no longer."""
        validation = await self._validations.validation(validation_id)
        if validation is None:
            return set()
        work = {each.dedup_key(): each for each in open_work(validation)}
        sequences = await self._said.sequences(work)
        return {
            (validation_id, work[key].step_id, work[key].attempt)
            for key, sequence in sequences.items()
            if not await self._bus.holds(sequence, key)
        }


@contextmanager
def _on_its_own(**about: str) -> Iterator[None]:
    """Within, whatever goes wrong is logged, but for what passes by itself."""
    try:
        yield
    except TRANSIENT:
        raise
    except Exception:
        # Whatever it is, it is about this one, and would keep all others waiting behind it.
        log.exception("cannot_be_taken_further", **about)
