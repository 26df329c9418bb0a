"""What an executing agent hears from its tools: in the order it asked, true, and only ever text."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ToolCallRequest
from langchain_core.messages import ToolMessage
from typing_extensions import override

from assay_sandbox_runner.adapters.deepagents_backend import SandboxBackend
from assay_sandbox_runner.adapters.step_recorder import ToolResult

READ_FILE_DESCRIPTION: Final = """Reads a file from the filesystem. Reading a missing file returns an error.

Usage:
- By default, it reads up to 100 lines starting from the beginning of the file. Use `offset`/`limit` to page through large files instead of reading them whole.
- A status header, `@@ field | field | ... @@`, sits above the file content, and every line after it is verbatim file content. When content is truncated, there may be an explanation before the header. Never include the header when editing.
- Speculatively batch multiple `read_file` calls in one response when several files may be useful.
- An empty file returns a system-reminder warning in place of contents.
- PDF and office files (DOCX, XLSX, PPTX) are answered with their text and a line on their structure; `offset`/`limit` count lines of that text. Images, audio and other binary files are answered with their kind and size: they cannot be looked at.
- Always read a file before editing it."""  # noqa: E501  # one line for each rule, as models get it

Handler = Callable[[ToolCallRequest], Awaitable[ToolResult]]


class OneAfterAnother(AgentMiddleware[AgentState[object], None, object]):
    """Carries out the calls of one turn in the order in which the model asked for them.

    One may read what another writes; side by side, which of them comes first is chance.
    """

    def __init__(self) -> None:
        super().__init__()
        self._turn = asyncio.Lock()

    @override
    async def awrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> ToolResult:
        # The graph starts the calls in their order, and the lock lets them in as they came.
        async with self._turn:
            return await handler(request)


class PlainAnswers(AgentMiddleware[AgentState[object], None, object]):
    """Puts no file or image into a tool's answer: providers refuse a whole conversation for it."""

    def __init__(self, backend: SandboxBackend) -> None:
        super().__init__()
        self._backend = backend

    @override
    async def awrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> ToolResult:
        result = await handler(request)
        if not isinstance(result, ToolMessage):
            return result
        if result.name == "write_file" and result.status != "error":
            return self._created_or_updated(request, result)
        if isinstance(result.content, list):
            return result.model_copy(update={"content": _as_text(result.content)})
        return result

    def _created_or_updated(self, request: ToolCallRequest, result: ToolMessage) -> ToolMessage:
        path = str(request.tool_call["args"].get("file_path", ""))
        if path not in self._backend.created:
            return result
        return result.model_copy(update={"content": f"Created file {path}"})


def _as_text(blocks: list[str | dict[object, object]]) -> str:
    """The text in the blocks: deepagents puts what the backend read into one, text or not."""
    parts = (
        block if isinstance(block, str) else block.get("text") or block.get("base64") or ""
        for block in blocks
    )
    return "\n".join(map(str, parts))
