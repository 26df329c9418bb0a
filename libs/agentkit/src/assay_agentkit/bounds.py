"""What one agent run may use up, and the middleware that ends it there."""

from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelCallLimitMiddleware
from langchain.agents.middleware.types import AgentState
from langgraph.runtime import Runtime
from typing_extensions import override

from assay_agentkit.meter import ModelMeter

Middleware = AgentMiddleware[Any, Any, Any]
"""Any middleware at all: each keeps a state of its own, and no type is above all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one agent run may use up."""

    model_calls: int
    seconds: float
    tokens: int | None = None
    """Of its meter, which several runs may share; looked at before each model call."""


class OutOfTokens(Exception):
    """The tokens that a run may use are used up."""


class TokenLimit(AgentMiddleware[AgentState[object], None, object]):
    """Asks the model nothing more once its meter has counted so many tokens."""

    def __init__(self, meter: ModelMeter, tokens: int) -> None:
        super().__init__()
        self._meter = meter
        self._tokens = tokens

    @override
    async def abefore_model(self, state: AgentState[object], runtime: Runtime[None]) -> None:
        if self._meter.tokens >= self._tokens:
            raise OutOfTokens


def bounding(bounds: Bounds, meter: ModelMeter | None) -> list[Middleware]:
    """The middleware that holds an agent to its model calls and its tokens.

    Raises:
        ValueError: tokens are bounded, and there is no meter that counts them.
    """
    limits: list[Middleware] = [
        ModelCallLimitMiddleware(run_limit=bounds.model_calls, exit_behavior="end")
    ]
    if bounds.tokens is not None:
        if meter is None:
            raise ValueError("a bound on tokens needs the meter that counts them")
        limits.append(TokenLimit(meter, bounds.tokens))
    return limits
