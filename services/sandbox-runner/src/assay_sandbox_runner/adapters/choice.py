"""Ends an agent once it has chosen a skill, or none."""

from collections.abc import Awaitable, Callable
from typing import Final

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import AgentState, ToolCallRequest, hook_config
from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime
from typing_extensions import override

from assay_sandbox_runner.adapters.step_recorder import ToolResult
from assay_sandboxes.port import SKILLS

_LOOKING: Final = frozenset({"ls", "glob", "grep", "read_file", "write_todos"})


class StopAtChoice(AgentMiddleware[AgentState[object], None, object]):
    """Lets an agent look around and open a skill; whatever else it wants ends it.

    What it wants to run or write is not carried out: that would leave things in the sandbox of
    tasks that have nothing to do with it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._chosen = False

    @override
    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolResult]],
    ) -> ToolResult:
        name, arguments = request.tool_call["name"], request.tool_call["args"]
        if name in _LOOKING:
            path = str(arguments.get("file_path", ""))
            self._chosen |= name == "read_file" and path.startswith(f"{SKILLS}/")
            return await handler(request)
        self._chosen = True
        return ToolMessage("", tool_call_id=request.tool_call["id"] or "", name=name)

    @hook_config(can_jump_to=["end"])
    @override
    async def abefore_model(
        self, state: AgentState[object], runtime: Runtime[None]
    ) -> dict[str, object] | None:
        return {"jump_to": "end"} if self._chosen else None
