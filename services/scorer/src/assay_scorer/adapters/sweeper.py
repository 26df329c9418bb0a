"""Clears the bucket of bundles of what nothing in the records refers to."""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog
from nats.errors import Error as NatsError
from nats.js.api import ObjectInfo
from nats.js.errors import NotFoundError
from sqlalchemy import cast, func, select, union
from sqlalchemy.dialects.postgresql import JSONB, JSONPATH
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_scorer.adapters.records import answering
from assay_scorer.adapters.tables import EnvironmentRow, RevisionRow, ValidationRow
from assay_servicekit.bus import Bus, Unavailable

STREAM: Final = "OBJ_bundles"
CHUNKS: Final = "$O.bundles.C."
NAMES: Final = "$O.bundles.M."
_BUNDLES: Final = cast("$.approved[*].bundle.key", JSONPATH)

_UNDER_WAY: Final = select(ValidationRow.environment_id).where(ValidationRow.step != "done")
# A skill may be deleted while another is still tested beside it.
_RECORDED: Final = union(
    select(RevisionRow.bundle["key"]),
    select(func.jsonb_path_query(EnvironmentRow.document, _BUNDLES, type_=JSONB)).where(
        EnvironmentRow.id.in_(_UNDER_WAY)
    ),
)

log = structlog.get_logger(__name__)


class BundleSweeper:
    """Removes bundles whose uploader died, or gave up waiting, before they were recorded.

    A bundle is written before it is recorded, so a new one looks unwanted for a moment: only what
    has looked so for `after` goes. What counts is when it was seen first, not its own clock.
    """

    def __init__(
        self, engine: AsyncEngine, bus: Bus, *, every_s: float = 600, after: timedelta
    ) -> None:
        self._engine = engine
        self._bus = bus
        self._every_s = every_s
        self._after = after
        self._first_seen: dict[str, datetime] = {}

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            await asyncio.sleep(self._every_s)
            try:
                await self.sweep(datetime.now(UTC))
            except (Unavailable, NatsError, TimeoutError, OSError) as error:
                log.warning("sweeper_waits", error=f"{type(error).__name__}: {error}")

    async def sweep(self, now: datetime) -> int:
        """One pass; returns how many subjects were cleared.

        Raises Unavailable, `nats.errors.Error`, TimeoutError.
        """
        unwanted = await self._unwanted()
        self._first_seen = {subject: self._first_seen.get(subject, now) for subject in unwanted}
        due = [subject for subject, seen in self._first_seen.items() if now - seen >= self._after]
        for subject in due:
            await self._bus.jetstream().purge_stream(STREAM, subject=subject)
            log.info("bundle_swept", subject=subject)
        return len(due)

    async def _unwanted(self) -> set[str]:
        """The subjects of names and chunks that nobody needs, traces of deletion included."""
        recorded = await self._recorded()
        objects = await self._objects()
        wanted = [info for info in objects if info.name in recorded and not info.deleted]
        state = await self._bus.jetstream().stream_info(STREAM, subjects_filter=f"{CHUNKS}>")
        names = {_name_subject(info.name) for info in objects}
        chunks = set(state.state.subjects or {})
        return (names | chunks) - set(_subjects(wanted))

    async def _recorded(self) -> set[str]:
        async with answering(), self._engine.connect() as connection:
            return set(await connection.scalars(_RECORDED))

    async def _objects(self) -> list[ObjectInfo]:
        bucket = await self._bus.jetstream().object_store("bundles")
        try:
            return await bucket.list()
        except NotFoundError:
            return []


def _name_subject(name: str) -> str:
    return f"{NAMES}{urlsafe_b64encode(name.encode()).decode()}"


def _subjects(objects: Iterable[ObjectInfo]) -> Iterable[str]:
    for info in objects:
        yield _name_subject(info.name)
        yield f"{CHUNKS}{info.nuid}"
