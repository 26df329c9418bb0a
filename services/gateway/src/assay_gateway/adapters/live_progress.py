"""Live progress, heard once for the whole process and passed on to whoever follows a skill."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from prometheus_client import Gauge

from assay_contracts.validations import ValidationProgressed

FOLLOWERS = Gauge("assay_gateway_followers", "Clients that follow something live.")


class LiveProgress:
    """Passes on that there is news, not the news: an event cannot grow, however slow its owner."""

    def __init__(self) -> None:
        self._followers: dict[UUID, set[asyncio.Event]] = {}

    async def heard(self, message: ValidationProgressed) -> None:
        for news in self._followers.get(message.skill_id, ()):
            news.set()

    @contextmanager
    def listen(self, skills: frozenset[UUID]) -> Iterator[asyncio.Event]:
        news = asyncio.Event()
        for skill_id in skills:
            self._followers.setdefault(skill_id, set()).add(news)
        FOLLOWERS.inc()
        try:
            yield news
        finally:
            FOLLOWERS.dec()
            for skill_id in skills:
                followers = self._followers[skill_id]
                followers.discard(news)
                if not followers:
                    del self._followers[skill_id]
