"""A real provider's client over HTTP, against a server that plays the model."""

from typing import Any

import pytest
from pydantic import SecretStr

from assay_contracts.validations import ValidationPlanned
from assay_judge.app import open_agents
from assay_judge.service import PlanTasks
from assay_judge.settings import Settings
from assay_judge.testing import WORD_COUNTER, planning_of

PLAN = {
    "tasks": [
        {
            "prompt": "How long is the speech in `speech.txt`? Put the figures in `figures.txt`.",
            "files": [{"path": "speech.txt", "content": "Friends, Romans, countrymen"}],
            "success_criterion": "The figures are right.",
            "checks": [{"kind": "file", "path": "figures.txt"}],
        }
    ]
}


async def planned(url: str, *, retries: int = 0, timeout_s: float = 20.0) -> ValidationPlanned:
    settings = Settings(
        nats_url=SecretStr("nats://127.0.0.1:4222"),
        judge_model="openai:test-model",
        model_base_url=url,
        model_api_key=SecretStr("test"),
        model_max_retries=retries,
        model_timeout_s=timeout_s,
        judge_model_calls=4,
    )
    bundles, request = planning_of("word-counter", dict(WORD_COUNTER), task_count=1)
    result = await PlanTasks(bundles=bundles, agents=open_agents(settings))(request)
    assert isinstance(result, ValidationPlanned)
    return result


async def test_it_reads_the_skill_by_tool_calls_and_answers_in_the_schema(
    model_server: Any,
) -> None:
    def reads_then_plans(body: dict[str, Any]) -> tuple[int, object]:
        results = [m["content"] for m in body["messages"] if m["role"] == "tool"]
        if not results:
            return 200, model_server.calls_tool("read_file", {"file_path": "/skill/SKILL.md"})
        assert "Counts the words" in str(results[0])
        return 200, model_server.calls_tool("TaskPlan", PLAN)

    model_server.script = reads_then_plans
    result = await planned(model_server.url)
    assert result.failure is None
    assert result.tasks[0].prompt == PLAN["tasks"][0]["prompt"]
    assert result.model is not None
    assert (result.model.model, result.model.calls) == ("openai:test-model", 2)
    assert (result.model.input_tokens, result.model.output_tokens) == (200, 20)
    offered = [tool["function"]["name"] for tool in model_server.requests[0]["tools"]]
    assert offered == ["ls", "read_file", "glob", "grep", "TaskPlan"]


@pytest.mark.parametrize("status", [429, 500])
async def test_a_refusal_that_passes_is_retried(model_server: Any, status: int) -> None:
    def refuses_once(_: dict[str, Any]) -> tuple[int, object]:
        if len(model_server.requests) == 1:
            return status, {"error": {"message": "later"}}
        return 200, model_server.calls_tool("TaskPlan", PLAN)

    model_server.script = refuses_once
    assert (await planned(model_server.url, retries=2)).failure is None


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, {"error": {"message": "out of order"}}),
        (401, {"error": {"message": "wrong key"}}),
        (200, "{ this is no JSON"),
        (200, {"choices": []}),
    ],
)
async def test_what_the_provider_gets_wrong_is_our_failure(
    model_server: Any, status: int, body: object
) -> None:
    model_server.script = lambda _: (status, body)
    result = await planned(model_server.url)
    assert result.tasks == ()
    assert result.failure is not None
    assert result.failure.category == "model"
    assert "test" not in result.failure.reason.split()


async def test_malformed_arguments_are_asked_for_again_until_the_bound(model_server: Any) -> None:
    model_server.script = lambda _: (200, model_server.calls_tool("TaskPlan", None, raw="{tasks: "))
    result = await planned(model_server.url)
    assert result.failure is not None
    assert result.failure.category == "model"
    assert len(model_server.requests) <= 4


async def test_a_refusal_in_words_is_our_failure(model_server: Any) -> None:
    words = {"role": "assistant", "content": "I cannot help with that."}
    model_server.script = lambda _: (200, model_server.completion(words))
    result = await planned(model_server.url)
    assert result.failure is not None
    assert "prose" in result.failure.reason


async def test_nobody_there_is_our_failure() -> None:
    result = await planned("http://127.0.0.1:9/v1")
    assert result.failure is not None
    assert result.failure.category == "model"


async def test_a_silent_server_is_a_timeout(model_server: Any) -> None:
    import threading

    release = threading.Event()

    def holds(_: dict[str, Any]) -> tuple[int, object]:
        release.wait(20)
        return 500, {}

    model_server.script = holds
    try:
        result = await planned(model_server.url, timeout_s=0.3)
    finally:
        release.set()
    assert result.failure is not None
    assert result.failure.category == "timeout"
