"""The rehearsal model drives deepagents' unmodified graph through its own tools."""

import subprocess
import sys

import pytest
from langchain_core.messages import AIMessage
from pydantic import BaseModel, SecretStr

from assay_agentkit.agents import Agent, build_agent, run_agent
from assay_agentkit.bounds import Bounds
from assay_agentkit.models import ModelSettings
from assay_rehearsal.conversation import Policy, Reply, ToolUse, Turn, file_text, listed_paths
from assay_rehearsal.model import RehearsalModel, model_label, open_model

BOUNDS = Bounds(model_calls=5, seconds=20)


class Sum(BaseModel):
    total: int


def agent(policy: Policy) -> Agent:
    return build_agent(
        RehearsalModel(policy=policy),
        name="test",
        system_prompt="Add up.",
        bounds=BOUNDS,
        answers_with=Sum,
    )


def adds_up(turn: Turn) -> Reply:
    if turn.number == 0:
        return Reply("Let me write it down.", (ToolUse("write_file", _file("2 + 3")),))
    if turn.number == 1:
        return Reply(calls=(ToolUse("read_file", {"file_path": "/sum.txt"}),))
    read = turn.result_of("read_file", file_path="/sum.txt")
    assert read is not None
    left, _, right = file_text(read).partition(" + ")
    return Reply(calls=(ToolUse("Sum", {"total": int(left) + int(right)}),))


def _file(content: str) -> dict[str, str]:
    return {"file_path": "/sum.txt", "content": content}


async def test_it_uses_the_graphs_own_tools_and_answers_in_the_schema() -> None:
    run = await run_agent(agent(adds_up), "2 + 3", bounds=BOUNDS, answers_with=Sum)
    assert run.structured == Sum(total=5)


async def test_the_same_conversation_gets_the_same_call_ids() -> None:
    async def call_ids() -> list[str]:
        run = await run_agent(agent(adds_up), "2 + 3", bounds=BOUNDS, answers_with=Sum)
        calls = [m.tool_calls for m in run.messages if isinstance(m, AIMessage)]
        return [str(call["id"]) for turn in calls for call in turn]

    first, second = await call_ids(), await call_ids()
    assert first == second
    assert len(set(first)) == len(first) == 3


async def test_listings_can_be_read_back() -> None:
    def lists(turn: Turn) -> Reply:
        if turn.number == 0:
            return Reply(calls=(ToolUse("write_file", _file("1")),))
        if turn.number == 1:
            return Reply(calls=(ToolUse("ls", {"path": "/"}),))
        listing = turn.result_of("ls")
        assert listing is not None
        return Reply(", ".join(listed_paths(listing)))

    run = await run_agent(agent(lists), "go", bounds=BOUNDS, answers_with=Sum)
    assert run.answer == "/sum.txt"


def quiet(_: object) -> Reply:
    return Reply("hm")


@pytest.mark.parametrize("spec", [None, ""])
def test_no_model_means_rehearsal(spec: str | None) -> None:
    assert isinstance(open_model(spec, policy=quiet), RehearsalModel)
    assert model_label(spec) == "rehearsal:1"


def test_a_named_model_is_opened_and_called_by_its_name() -> None:
    settings = ModelSettings(model_api_key=SecretStr("k"))
    model = open_model("openai:some-model", policy=quiet, settings=settings)
    assert model._get_ls_params()["ls_provider"] == "openai"
    assert "some-model" in model_label("openai:some-model")


def test_no_provider_is_imported_unless_it_is_asked_for() -> None:
    code = (
        "import sys, assay_agentkit.agents, assay_rehearsal.model as m;"
        "m.open_model(None, policy=lambda turn: None);"
        "print([n for n in ('openai', 'anthropic', 'google.genai') if n in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
