"""A result counts if its sender was asked for it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog
from prometheus_client import Counter

from assay_contracts.base import Result
from assay_contracts.topology import asked_as
from assay_scorer.ports.outbox import AskedWork

R = TypeVar("R", bound=Result)

REFUSED = Counter(
    "assay_result_refused_total", "Results by who did not get the work.", ("message_type",)
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlyIfAskedFor:
    """Wraps what takes a result.

    Work goes to one worker, and its `message_id` is known to nobody else: whoever gives it back
    had the work. Any other result is dropped, and nothing changes by it.
    """

    work: AskedWork

    def __call__(self, take: Callable[[R], Awaitable[None]]) -> Callable[[R], Awaitable[None]]:
        async def taken(result: R) -> None:
            """Raises Unavailable; the result is then to be tried again."""
            if result.work_id in await self.work.message_ids(asked_as(result)):
                await take(result)
                return
            REFUSED.labels(result.message_type).inc()
            log.warning(
                "result_refused",
                subject=result.SUBJECT,
                step_id=result.step_id,
                attempt=result.attempt,
                worker=result.worker,
            )

        return taken
