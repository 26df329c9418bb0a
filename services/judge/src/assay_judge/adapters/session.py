"""One conversation with one agent, for as long as its answer will not do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import BaseModel

from assay_agentkit.agents import Agent, ask_agent
from assay_agentkit.bounds import Bounds
from assay_agentkit.meter import ModelMeter
from assay_contracts.base import ModelUse, Role

T = TypeVar("T", bound=BaseModel)
Request = str | list[str | dict[str, object]]
"""Words, or words and pictures in LangChain's content blocks."""


@dataclass(slots=True, kw_only=True)
class AgentSession(Generic[T]):
    """Asks one agent, and goes on in the same conversation when the answer will not do."""

    build: Callable[[], Agent]
    request: Request
    answers_with: type[T]
    bounds: Bounds
    meter: ModelMeter
    role: Role
    model: str
    prompt_version: str
    _agent: Agent | None = None
    _conversation: tuple[BaseMessage, ...] = ()

    async def ask(self, complaints: Sequence[str] = ()) -> T:
        self._agent = self._agent or self.build()
        said: Request = _asked_again(complaints) if complaints else self.request
        draft, self._conversation = await ask_agent(
            self._agent,
            [*self._conversation, HumanMessage(said)],
            bounds=self.bounds,
            answers_with=self.answers_with,
            callbacks=[self.meter],
        )
        return draft

    def use(self) -> ModelUse:
        return self.meter.use(role=self.role, model=self.model, prompt_version=self.prompt_version)


def _asked_again(complaints: Sequence[str]) -> str:
    listed = "\n".join(f"- {complaint}" for complaint in complaints)
    return (
        f"That answer cannot be used. Give the whole answer again, with this put right:\n{listed}"
    )
