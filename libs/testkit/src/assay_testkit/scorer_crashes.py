"""A scorer whose process dies in the middle, and a bus that breaks at any word.

What crashes loses its memory and its open transaction; what was said to the bus stays said.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, cast

from nats.errors import Error as NatsError
from sqlalchemy.ext.asyncio import AsyncEngine

from assay_contracts.base import Message
from assay_contracts.full_tests import FullTestCompleted
from assay_contracts.topology import WORK_MESSAGES
from assay_contracts.validations import ValidationCompleted
from assay_scorer.adapters.records import PostgresRecords, PostgresTransaction

READ: Final[tuple[type[Message], ...]] = (
    *WORK_MESSAGES,
    ValidationCompleted,
    FullTestCompleted,
)
MESSAGES: Final = {message.SUBJECT: message for message in READ}


class CrashError(Exception):
    """The process is gone."""


@dataclass
class CrashingRecords(PostgresRecords):
    """Crashes after so many steps of transactions, their ends among them."""

    engine: AsyncEngine
    steps_left: int | None = None

    def __post_init__(self) -> None:
        super().__init__(self.engine)

    def step(self) -> None:
        if self.steps_left is not None:
            self.steps_left -= 1
            if self.steps_left == 0:
                raise CrashError

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[PostgresTransaction]:
        async with super().transaction() as transaction:
            yield cast("PostgresTransaction", _Stepwise(transaction, self.step))
            self.step()
        self.step()


class _Stepwise:
    def __init__(self, transaction: PostgresTransaction, step: Callable[[], None]) -> None:
        self._transaction = transaction
        self._step = step

    def __getattr__(self, name: str) -> Callable[..., Awaitable[object]]:
        method = getattr(self._transaction, name)

        async def stepped(*args: object, **named: object) -> object:
            result = await method(*args, **named)
            self._step()
            return result

        return stepped


class ClockBehind:
    """Behind the real one, so that what is due by it is due."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC) - timedelta(days=30)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


@dataclass
class BreakingBus:
    """A bus that keeps one of each key, and may break at any word."""

    said: dict[str, Message] = field(default_factory=dict)
    words_left: int | None = None

    async def publish(self, subject: str, body: bytes, dedup_key: str) -> int:
        if self.words_left is not None:
            self.words_left -= 1
            if self.words_left < 0:
                raise NatsError
        model = MESSAGES.get(subject.removesuffix(".solo").removesuffix(".background"))
        if model is not None and dedup_key not in self.said:
            self.said[dedup_key] = model.model_validate_json(body)
        return len(self.said)
