"""Whatever a provider raises, made one kind of failure that says what to do."""

import re
from collections.abc import Awaitable, Callable
from typing import Final

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError, ModelTimeoutError
from langchain_core.messages import AIMessage
from typing_extensions import override

from assay_agentkit.failures import AgentFailed

_KEY: Final = re.compile(r"\b(?:sk|pk|key|AIza)[-_]?[\w*-]{8,}|(?<=Bearer )\S+")
"""What looks like a key; providers quote them when they refuse one."""
_MALFORMED_TRIES: Final = 3


class ModelErrors(AgentMiddleware[AgentState[object], None, object]):
    """Turns whatever a provider raises, and what no agent can go on from, into `AgentFailed`.

    A tool's error looks different. A call that is no JSON is asked for again a few times.
    """

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[object]]],
    ) -> ModelResponse[object]:
        for _ in range(_MALFORMED_TRIES):
            try:
                response = await handler(request)
            except ContextOverflowError:
                raise  # deepagents answers this one by shortening the conversation
            except Exception as error:  # every provider has its own exception types
                raise model_failure(error) from error
            said = [message for message in response.result if isinstance(message, AIMessage)]
            if refusal := next(filter(None, map(_refusal, said)), None):
                raise AgentFailed("model", f"The model refused: {refusal[:300]}")
            if not any(message.invalid_tool_calls for message in said):
                return response
        raise AgentFailed(
            "model", f"The model's tool calls were no JSON, {_MALFORMED_TRIES} times in a row."
        )


def model_failure(error: Exception) -> AgentFailed:
    """The failure that an exception of a provider amounts to; keys in it are blotted out."""
    if isinstance(error, AgentFailed):
        return error
    detail = _KEY.sub("[key]", f"{type(error).__name__}: {error}")[:600]
    if isinstance(error, ModelTimeoutError | TimeoutError):
        return AgentFailed("timeout", f"The model did not answer in time ({detail}).")
    return AgentFailed(
        "model",
        f"The model call failed ({detail}). Check the model setting, its key and its quota.",
    )


def _refusal(message: AIMessage) -> str | None:
    """How a provider says that its model will not; words of the model's own are an answer."""
    refusal = message.additional_kwargs.get("refusal")
    if refusal:
        return str(refusal)
    filtered = message.response_metadata.get("finish_reason") == "content_filter"
    return "its provider's content filter stopped it" if filtered else None
