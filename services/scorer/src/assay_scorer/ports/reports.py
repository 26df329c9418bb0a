from typing import Protocol


class Reports(Protocol):
    async def keep(self, key: str, content: bytes) -> None:
        """Store one form of a report under `key`."""
        ...
