"""The system of record, asked over the bus."""

from dataclasses import dataclass

from nats.errors import NoRespondersError

from assay_contracts.rpc import ProblemError, RegisterReply, RegisterSkill
from assay_ingest.ports import RecordsSilent
from assay_servicekit.bus import Bus


@dataclass(frozen=True, slots=True)
class RecordsOnBus:
    bus: Bus

    async def register(self, skill: RegisterSkill) -> RegisterReply:
        try:
            return await self.bus.ask(skill)
        except ProblemError as error:
            nobody_there = isinstance(error.__cause__, NoRespondersError)
            if error.problem.code == "SERVICE_UNAVAILABLE" and not nobody_there:
                raise RecordsSilent(error.problem) from error
            raise
