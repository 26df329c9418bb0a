"""Whatever a provider raises, made one kind of failure that says what to do."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError, ModelError, ModelTimeoutError
from langchain_core.messages import AIMessage
from typing_extensions import override

from assay_agentkit.failures import AgentFailed

_KEY: Final = re.compile(r"\b(?:sk|pk|key|AIza)[-_]?[\w*-]{8,}|(?<=Bearer )\S+")
"""What looks like a key; providers quote them when they refuse one."""
_MALFORMED_TRIES: Final = 3
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 8.0
_LONGEST_ASKED_PAUSE_S: Final = 60.0
"""Longest that a provider may ask us to wait before the next try."""
_MAY_PASS: Final = (408, 409, 429)
"""Answers of a server, beside 5xx, after which the same request may succeed."""
_SERVER_ERROR: Final = 500
_NOT_SENT: Final = ("ConnectError", "ConnectTimeout", "PoolTimeout")
"""What HTTP clients raise before anything was sent."""


class ModelErrors(AgentMiddleware[AgentState[object], None, object]):
    """Turns whatever a provider raises, and what no agent can go on from, into `AgentFailed`.

    A tool's error looks different. A call that is no JSON is asked for again a few times, and so is
    one after which the provider may recover: here rather than in its client, where nobody counts.
    """

    def __init__(self, *, retries: int = 0) -> None:
        super().__init__()
        self._retries = retries

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[object]]],
    ) -> ModelResponse[object]:
        for _ in range(_MALFORMED_TRIES):
            response = await self._answered(request, handler)
            said = [message for message in response.result if isinstance(message, AIMessage)]
            if refusal := next(filter(None, map(_refusal, said)), None):
                raise AgentFailed("model", f"The model refused: {refusal[:300]}")
            if not any(message.invalid_tool_calls for message in said):
                return response
        raise AgentFailed(
            "model", f"The model's tool calls were no JSON, {_MALFORMED_TRIES} times in a row."
        )

    async def _answered(
        self,
        request: ModelRequest[None],
        handler: Callable[[ModelRequest[None]], Awaitable[ModelResponse[object]]],
    ) -> ModelResponse[object]:
        tried = 0
        while True:
            try:
                return await handler(request)
            except ContextOverflowError:
                raise  # deepagents answers this one by shortening the conversation
            except Exception as error:  # every provider has its own exception types
                if tried == self._retries or not may_pass(error):
                    raise model_failure(error) from error
                pause = _pause_s(error, tried)
            tried += 1
            await asyncio.sleep(pause)


def may_pass(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(error, ModelError):
        return error.is_retryable
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    status = getattr(error, "status_code", None)
    return isinstance(status, int) and (status in _MAY_PASS or status >= _SERVER_ERROR)


def never_arrived(error: BaseException) -> bool:
    """Whether the provider cannot have heard of the call, because no connection came about."""
    return any(type(each).__name__ in _NOT_SENT for each in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _pause_s(error: Exception, tried: int) -> float:
    """What the provider asks for; else longer each time, and never the same for all."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    asked = str(headers.get("retry-after", "")) if isinstance(headers, Mapping) else ""
    try:
        return min(_LONGEST_ASKED_PAUSE_S, max(0.0, float(asked)))
    except ValueError:
        longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * float(2**tried))
        return longest / (1.0 + random.random())  # noqa: S311  # not for secrets


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
