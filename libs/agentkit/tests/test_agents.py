"""What an agent is given, and every way in which its run can go wrong."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from assay_agentkit.agents import Agent, build_agent, failed_by, run_agent
from assay_agentkit.bounds import Bounds
from assay_agentkit.failures import AgentFailed
from assay_agentkit.meter import ModelMeter
from assay_rehearsal.conversation import Policy, Reply, ToolUse, Turn
from assay_rehearsal.model import RehearsalModel

BOUNDS = Bounds(model_calls=5, seconds=20)


class Sum(BaseModel):
    total: int


def agent(policy: Policy, bounds: Bounds = BOUNDS) -> Agent:
    return build_agent(
        RehearsalModel(policy=policy),
        name="test",
        system_prompt="Add up.",
        bounds=bounds,
        answers_with=Sum,
    )


async def test_the_general_purpose_subagent_is_off() -> None:
    offered: list[str] = []

    def looks(turn: Turn) -> Reply:
        offered.extend(turn.tools)
        return Reply(calls=(ToolUse("Sum", {"total": 1}),))

    await run_agent(agent(looks), "go", bounds=BOUNDS, answers_with=Sum)
    assert "read_file" in offered
    assert "task" not in offered


async def test_only_the_file_tools_named_are_offered() -> None:
    offered: list[str] = []

    def looks(turn: Turn) -> Reply:
        offered.extend(turn.tools)
        return Reply("done")

    built = build_agent(
        RehearsalModel(policy=looks),
        name="test",
        system_prompt="",
        bounds=BOUNDS,
        file_tools=("ls", "read_file"),
    )
    await run_agent(built, "go", bounds=BOUNDS)
    assert offered == ["ls", "read_file"]


async def test_an_agent_that_never_stops_is_stopped_and_says_how_far_it_came() -> None:
    built = agent(lambda _: Reply(calls=(ToolUse("ls", {"path": "/"}),)))
    run = await run_agent(built, "go", bounds=BOUNDS, answers_with=Sum)
    assert run.stopped_by == "steps"
    assert run.answer == ""
    assert sum(isinstance(m, AIMessage) and bool(m.tool_calls) for m in run.messages) == 5
    assert failed_by("steps", BOUNDS).category == "model"


async def test_answers_that_never_fit_the_schema_end_at_the_bound() -> None:
    built = agent(lambda _: Reply(calls=(ToolUse("Sum", {"total": "many"}),)))
    run = await run_agent(built, "go", bounds=BOUNDS, answers_with=Sum)
    assert (run.stopped_by, run.structured) == ("steps", None)


async def test_prose_instead_of_structure_is_no_answer_in_the_schema() -> None:
    built = agent(lambda _: Reply("It is five, I should think."))
    assert (await run_agent(built, "go", bounds=BOUNDS, answers_with=Sum)).structured is None


async def test_what_a_provider_raises_is_a_failure_of_the_model() -> None:
    def breaks(_: Turn) -> Reply:
        raise ConnectionError("no route to the model")

    meter = ModelMeter()
    with pytest.raises(AgentFailed, match="no route to the model") as failure:
        await run_agent(agent(breaks), "go", bounds=BOUNDS, callbacks=[meter])
    assert failure.value.category == "model"
    assert meter.use(role="planner", model="m", prompt_version="1").calls == 1


async def test_a_key_that_a_provider_quotes_is_not_passed_on() -> None:
    def refuses(_: Turn) -> Reply:
        raise PermissionError("Incorrect API key provided: sk-proj-abcdef123456. Bearer abc.def")

    with pytest.raises(AgentFailed) as failure:
        await run_agent(agent(refuses), "go", bounds=BOUNDS)
    assert "Incorrect API key provided: [key]" in failure.value.reason
    assert "abc" not in failure.value.reason


class SlowModel(RehearsalModel):
    """Answers only after a wait that no test is willing to sit out."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(3600)
        return await super()._agenerate(*args, **kwargs)


async def test_a_model_that_keeps_silent_is_a_timeout() -> None:
    bounds = Bounds(model_calls=5, seconds=0.2)
    built = build_agent(
        SlowModel(policy=lambda _: Reply("late")),
        name="test",
        system_prompt="",
        bounds=bounds,
        answers_with=Sum,
    )
    meter = ModelMeter()
    run = await run_agent(built, "go", bounds=bounds, answers_with=Sum, callbacks=[meter])
    assert run.stopped_by == "time"
    assert failed_by("time", bounds).category == "timeout"
    assert meter.use(role="planner", model="m", prompt_version="1").seconds > 0.05
