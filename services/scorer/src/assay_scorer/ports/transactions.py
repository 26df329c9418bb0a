from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Transactions(Protocol[T_co]):
    """Units of work. A use case names in `T_co` what it does in one."""

    def transaction(self) -> AbstractAsyncContextManager[T_co]:
        """Everything within happens, or nothing does. What it locks is held until it ends."""
        ...
