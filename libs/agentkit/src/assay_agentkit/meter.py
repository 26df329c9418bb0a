"""Counts what a role's model was asked, what it cost in tokens, and how long it took."""

import threading
import time
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from assay_contracts.runs import ModelUse, Role


class ModelMeter(BaseCallbackHandler):
    """Callback that one or several agent runs of a role share. Safe across threads.

    Failed calls count as calls, and their time counts too.
    """

    run_inline = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started: dict[UUID, float] = {}
        self._calls = 0
        self._input_tokens = 0
        self._output_tokens = 0
        self._seconds = 0.0

    def use(self, *, role: Role, model: str, prompt_version: str) -> ModelUse:
        """Everything counted so far."""
        with self._lock:
            return ModelUse(
                role=role,
                model=model,
                prompt_version=prompt_version,
                calls=self._calls,
                input_tokens=self._input_tokens,
                output_tokens=self._output_tokens,
                seconds=round(self._seconds, 4),
            )

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002
        messages: list[list[BaseMessage]],  # noqa: ARG002
        *,
        run_id: UUID,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        with self._lock:
            self._calls += 1
            self._started[run_id] = time.perf_counter()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        tokens = [_tokens(generation) for batch in response.generations for generation in batch]
        with self._lock:
            self._stop_clock(run_id)
            self._input_tokens += sum(taken for taken, _ in tokens)
            self._output_tokens += sum(given for _, given in tokens)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        with self._lock:
            self._stop_clock(run_id)

    def _stop_clock(self, run_id: UUID) -> None:
        started = self._started.pop(run_id, None)
        if started is not None:
            self._seconds += time.perf_counter() - started


def _tokens(generation: object) -> tuple[int, int]:
    """Input and output tokens that the provider reported; zero where it reported none."""
    if not isinstance(generation, ChatGeneration):
        return 0, 0
    message = generation.message
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    return (usage["input_tokens"], usage["output_tokens"]) if usage else (0, 0)
