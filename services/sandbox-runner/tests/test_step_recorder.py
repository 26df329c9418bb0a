from typing import cast

import pytest
from langchain.agents.middleware.types import ToolCallRequest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from assay_sandbox_runner.adapters.step_recorder import StepRecorder


@pytest.mark.parametrize("begun", [("read", "list"), ("list", "read")])
async def test_steps_stand_in_the_order_in_which_the_model_asked_for_them(
    begun: tuple[str, str],
) -> None:
    calls = {name: ToolCall(name=name, args={}, id=name) for name in ("read", "list", "run")}
    first = AIMessage("", tool_calls=[calls["read"], calls["list"]])
    second = AIMessage("", tool_calls=[calls["run"]])
    recorder = StepRecorder(())

    async def carried_out(request: ToolCallRequest) -> ToolMessage:
        return ToolMessage("done", tool_call_id=request.tool_call["id"] or "")

    async def call(name: str, *messages: AIMessage | ToolMessage) -> None:
        request = ToolCallRequest(
            tool_call=calls[name],
            tool=None,
            state={"messages": list(messages)},
            runtime=cast("ToolRuntime[None, dict[str, object]]", None),
        )
        await recorder.awrap_tool_call(request, carried_out)

    for name in begun:
        await call(name, first)
    await call("run", first, ToolMessage("done", tool_call_id="read"), second)
    assert [step.tool for step in recorder.steps] == ["read", "list", "run"]
