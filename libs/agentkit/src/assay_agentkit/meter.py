"""Counts what a role's model was asked, what it cost in tokens, and how long it took."""

import threading
import time
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import ChatGeneration, LLMResult
from typing_extensions import override

from assay_agentkit.model_errors import never_arrived
from assay_contracts.base import ModelUse, Role


class ModelMeter(BaseCallbackHandler):
    """Callback that one or several agent runs of a role share. Safe across threads.

    Failed calls count as calls, and their time counts too; one that never reached the provider is
    none. Time in which several calls are open at once counts once: it is how long the role's work
    waited for its model.
    """

    run_inline = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[UUID, list[list[BaseMessage]]] = {}
        self._waiting_since = 0.0
        self._calls = 0
        self._unanswered = 0
        self._input_tokens = 0
        self._cached_tokens = 0
        self._output_tokens = 0
        self._guessed_tokens = 0
        self._seconds = 0.0

    @property
    def tokens(self) -> int:
        """Read and written so far; a rough guess for answers of which no count was given."""
        with self._lock:
            return self._input_tokens + self._output_tokens + self._guessed_tokens

    def use(self, *, role: Role, model: str, prompt_version: str) -> ModelUse:
        """Everything counted so far, calls that are still open included."""
        with self._lock:
            waiting = time.perf_counter() - self._waiting_since if self._open else 0.0
            return ModelUse(
                role=role,
                model=model,
                prompt_version=prompt_version,
                calls=self._calls,
                unanswered=self._unanswered + len(self._open),
                input_tokens=self._input_tokens,
                cached_tokens=self._cached_tokens,
                output_tokens=self._output_tokens,
                estimated_tokens=self._guessed_tokens,
                seconds=round(self._seconds + waiting, 4),
            )

    @override
    def on_chat_model_start(
        self,
        serialized: dict[str, object],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        **kwargs: object,
    ) -> None:
        with self._lock:
            self._calls += 1
            if not self._open:
                self._waiting_since = time.perf_counter()
            self._open[run_id] = messages

    @override
    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        answers = [_answer(generation) for batch in response.generations for generation in batch]
        with self._lock:
            asked = self._close(run_id)
            for answer in answers:
                usage = answer.usage_metadata if answer else None
                if usage is not None:
                    self._input_tokens += usage["input_tokens"]
                    details = usage.get("input_token_details") or {}
                    self._cached_tokens += details.get("cache_read") or 0
                    self._output_tokens += usage["output_tokens"]
                else:
                    said = [*(message for batch in asked for message in batch)]
                    said += [answer] if answer else []
                    self._guessed_tokens += count_tokens_approximately(said)

    @override
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        with self._lock:
            self._close(run_id)
            if never_arrived(error):
                self._calls -= 1
            else:
                self._unanswered += 1

    def _close(self, run_id: UUID) -> list[list[BaseMessage]]:
        """End one call's time and give back what it asked."""
        if run_id not in self._open:
            return []
        asked = self._open.pop(run_id)
        if not self._open:
            self._seconds += time.perf_counter() - self._waiting_since
        return asked


def _answer(generation: object) -> AIMessage | None:
    message = generation.message if isinstance(generation, ChatGeneration) else None
    return message if isinstance(message, AIMessage) else None
