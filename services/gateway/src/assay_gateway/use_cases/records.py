"""Ask the records, which the scorer keeps."""

from dataclasses import dataclass
from typing import Final

from assay_contracts.base import Model
from assay_contracts.rpc import Rpc
from assay_gateway.ports import Ask, AskJson, R

RECORDS_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRecords:
    """Have the records answer, or do something, within the time that a request may take."""

    ask: Ask

    async def __call__(self, question: Rpc[R]) -> R:
        """Raises ProblemError, as `ports.Ask` does."""
        return await self.ask(question, timeout_s=RECORDS_TIMEOUT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecordsAsJson:
    """As `AskRecords`, for answers that are passed on as they are."""

    ask_json: AskJson

    async def __call__(self, question: Rpc[Model]) -> bytes:
        return await self.ask_json(question, timeout_s=RECORDS_TIMEOUT_S)
