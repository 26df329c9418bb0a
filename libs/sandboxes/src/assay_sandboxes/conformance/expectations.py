"""What a check says when something is not as it is to be."""

import re
from types import TracebackType
from typing import Self


class NotApplicable(Exception):
    """The check says nothing of this provider, or cannot be made on this machine; says why."""


class Raises:
    """What is inside is to end with this error, whose text has `pattern` in it."""

    def __init__(self, expected: type[BaseException], pattern: str = "") -> None:
        self._expected = expected
        self._pattern = pattern

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if error is None:
            raise AssertionError(f"it did not end with {self._expected.__name__}")
        if not isinstance(error, self._expected):
            return False
        if not re.search(self._pattern, str(error)):
            raise AssertionError(f"{error!r} says nothing of {self._pattern!r}")
        return True
