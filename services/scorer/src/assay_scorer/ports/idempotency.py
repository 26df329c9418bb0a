from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

KEPT_FOR: Final = timedelta(hours=24)
"""How long a key stands for its first answer."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What came of a question that has a key; exactly one of the last two, or none yet."""

    fingerprint: str
    reply: dict[str, object] | None
    problem: dict[str, object] | None


class StoredAnswers(Protocol):
    """First answers by key."""

    async def find(self, key: str) -> StoredAnswer | None: ...

    def claimed(self, key: str, fingerprint: str) -> AbstractContextManager[None]:
        """The next transaction within takes the key along, or nothing of it happens.

        It then raises `KeyTaken`, once whoever has the key is through.
        """
        ...

    async def keep(self, key: str, answer: StoredAnswer) -> None:
        """Keep the answer, unless there is one."""
        ...


class AnswerExpiry(Protocol):
    async def remove_answers(self, before: datetime) -> None:
        """Remove what was answered before."""
        ...


class KeyTaken(Exception):
    """Somebody else had this key first."""
