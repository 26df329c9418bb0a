"""A real provider's client over HTTP, against a server that plays the model."""

from typing import Any

import pytest
from pydantic import SecretStr

from assay_contracts.grades import Grade, RunGraded
from assay_contracts.runs import Trace
from assay_contracts.validations import ValidationPlanned
from assay_judge.app import open_agents
from assay_judge.settings import Settings
from assay_servicekit.spending import costs_told, with_costs
from assay_testkit.judge import (
    WORD_COUNTER,
    WorkbenchInMemory,
    checked,
    grade_run,
    grading_of,
    plan_tasks,
    planning_of,
    produced,
    step,
    trace_of,
)
from assay_testkit.models import (
    Answer,
    ModelServer,
    calls_tool,
    refuses,
    says,
    tool_results,
    tools_offered,
)

DRAFT_TASK = {
    "prompt": "How long is the speech in `speech.txt`? Put the figures in `figures.txt`.",
    "files": [{"path": "speech.txt", "content": "Friends, Romans, countrymen"}],
    "success_criterion": "The figures are right.",
    "checks": [{"kind": "file", "path": "figures.txt"}],
    "reference": {"files": [{"path": "figures.txt", "content": "3 words"}], "answer": "3 words"},
}
OUTLINES = {"outlines": [{"need": "Somebody wants to know how long it is."}], "near_misses": []}


def plans(body: dict[str, Any]) -> Answer:
    if "TaskDraft" in tools_offered(body):
        return calls_tool("TaskDraft", DRAFT_TASK)
    return calls_tool("TaskOutlines", OUTLINES)


def settings_for(url: str, **changes: object) -> Settings:
    settings = Settings(
        nats_url=SecretStr("nats://127.0.0.1:4222"),
        judge_model="openai:test-model",
        model_base_url=url,
        model_api_key=SecretStr("test"),
        model_max_retries=0,
        judge_model_calls=4,
    )
    return settings.model_copy(update=changes)


async def planned(
    url: str, *, retries: int = 0, timeout_s: float = 20.0, tokens: int | None = None
) -> ValidationPlanned:
    settings = settings_for(url, model_max_retries=retries, model_timeout_s=timeout_s)
    bundles, request = planning_of("word-counter", dict(WORD_COUNTER), task_count=1)
    request = request.model_copy(update={"token_budget": tokens})
    with costs_told() as told:
        plan = plan_tasks(
            bundles, open_agents(settings, WorkbenchInMemory()), needs_references=True
        )
        result = with_costs(await plan(request), told)
    assert isinstance(result, ValidationPlanned)
    return result


async def test_it_outlines_then_prepares_each_task_and_answers_in_the_schema(
    model_server: ModelServer,
) -> None:
    model_server.script = plans
    result = await planned(model_server.url)
    assert result.failure is None
    assert result.tasks[0].prompt == DRAFT_TASK["prompt"]
    assert result.tasks[0].trials[0].passes_on_reference
    assert result.model is not None
    assert (result.model.model, result.model.calls) == ("openai:test-model", 2)
    assert (result.model.input_tokens, result.model.output_tokens) == (200, 20)
    main, preparer = model_server.requests
    assert tools_offered(main) == ("ls", "read_file", "glob", "grep", "TaskOutlines")
    assert set(tools_offered(preparer)) == {
        "ls", "read_file", "write_file", "edit_file", "glob", "grep", "execute", "TaskDraft"
    }  # fmt: skip


async def test_what_agents_of_one_plan_are_told_begins_alike(model_server: ModelServer) -> None:
    model_server.script = plans
    await planned(model_server.url)
    main, preparer = (str(body["messages"][-1]["content"]) for body in model_server.requests)
    shown, _, asked = main.rpartition("DATA ")
    assert "Counts the words" in shown
    assert preparer.startswith(shown)
    assert "Outline exactly 1 tasks" in asked


@pytest.mark.parametrize("status", [429, 500])
async def test_a_refusal_that_passes_is_retried(model_server: ModelServer, status: int) -> None:
    def refuses_once(body: dict[str, Any]) -> Answer:
        if len(model_server.requests) == 1:
            return Answer(body={"error": {"message": "later"}}, status=status)
        return plans(body)

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
    model_server: ModelServer, status: int, body: object
) -> None:
    model_server.script = lambda _: Answer(body=body, status=status)
    result = await planned(model_server.url)
    assert result.tasks == ()
    assert result.failure is not None
    assert result.failure.category == "model"
    assert "test" not in result.failure.reason.split()


async def test_malformed_arguments_are_asked_for_again_a_few_times(
    model_server: ModelServer,
) -> None:
    model_server.script = lambda _: calls_tool("TaskOutlines", raw="{tasks: ")
    result = await planned(model_server.url)
    assert result.failure is not None
    assert result.failure.category == "model"
    assert "no JSON" in result.failure.reason
    assert len(model_server.requests) == 3


async def test_arguments_that_come_right_are_taken(model_server: ModelServer) -> None:
    def stumbles(body: dict[str, Any]) -> Answer:
        first = len(model_server.requests) == 1
        return calls_tool("TaskOutlines", raw="{tasks: ") if first else plans(body)

    model_server.script = stumbles
    assert (await planned(model_server.url)).failure is None


async def test_a_refusal_in_words_is_our_failure(model_server: ModelServer) -> None:
    model_server.script = lambda _: says("I cannot help with that.")
    result = await planned(model_server.url)
    assert result.failure is not None
    assert "prose" in result.failure.reason


async def test_a_refusal_in_the_providers_own_way_is_our_failure(
    model_server: ModelServer,
) -> None:
    model_server.script = lambda _: refuses()
    result = await planned(model_server.url)
    assert result.failure is not None
    assert "refused" in result.failure.reason


async def test_nobody_there_is_our_failure() -> None:
    result = await planned("http://127.0.0.1:9/v1")
    assert result.failure is not None
    assert result.failure.category == "model"


async def test_a_silent_server_is_a_timeout(model_server: ModelServer) -> None:
    model_server.script = lambda _: Answer(body={}, status=500, after=model_server.closing)
    result = await planned(model_server.url, timeout_s=0.3)
    assert result.failure is not None
    assert result.failure.category == "timeout"


async def test_tokens_are_counted_and_bounded(model_server: ModelServer) -> None:
    model_server.script = lambda _: calls_tool("ls", {"path": "/skill"})
    result = await planned(model_server.url, tokens=250)
    assert result.failure is not None
    assert result.failure.category == "budget"
    assert result.failure.costs is not None
    assert [use.tokens for use in result.failure.costs] == [330]
    assert len(model_server.requests) == 3


async def test_every_kind_of_check_that_a_model_is_shown_can_be_told_apart(
    model_server: ModelServer,
) -> None:
    model_server.script = plans
    await planned(model_server.url)
    (schema,) = (
        tool["function"]["parameters"]
        for tool in model_server.requests[1]["tools"]
        if tool["function"]["name"] == "TaskDraft"
    )
    assert set(schema["required"]) == set(schema["properties"])
    assert "null" not in str(schema["properties"]["reference"]["type"])
    checks = schema["properties"]["checks"]["items"]
    kinds = [kind["properties"]["kind"]["const"] for kind in checks["oneOf"]]
    assert kinds == ["command", "file", "pattern", "program"]
    assert all("kind" in kind["required"] for kind in checks["oneOf"])
    assert "$defs" not in str(schema)


# -- a grader that looks for itself ----------------------------------------------------------------

PASSAGE = "The mean is 4.2, as asked."
WROTE = step("write_file", {"file_path": "/workspace/tasks/t1/a.md", "content": "x" * 9000})
DRAFT = {"evidence": [{"quote": PASSAGE}], "reasons": "As asked.", "grade": 5}


async def graded(url: str, trace: Trace, **changes: object) -> Grade:
    traces, request = grading_of((trace, checked(True)))
    agents = open_agents(settings_for(url, **changes), WorkbenchInMemory())
    result = await grade_run(traces, agents)(request)
    assert isinstance(result, RunGraded)
    assert result.failure is None, result.failure
    return result.grades[0]


@pytest.mark.parametrize("path", ["/result/a.md", "/trace/steps/2.txt"])
async def test_a_grader_reads_what_decides(path: str, model_server: ModelServer) -> None:
    def reads_then_grades(body: dict[str, Any]) -> Answer:
        results = tool_results(body)
        if not results:
            return calls_tool("read_file", {"file_path": path})
        assert PASSAGE in results[0]
        return calls_tool("GradeDraft", DRAFT, number=1)

    model_server.script = reads_then_grades
    long = step("execute", {"command": "cat a.md"}, "x\n" * 9000, exit_code=0)
    seen = long.model_copy(update={"output": f"{PASSAGE}\n{long.output}"})
    trace = trace_of([WROTE, seen]).model_copy(update={"produced": (produced("a.md", PASSAGE),)})
    grade = await graded(model_server.url, trace)
    assert grade.grade == 5
    assert path in str(model_server.requests[-1]["messages"])


@pytest.mark.parametrize(("sees", "shown"), [(True, 1), (False, 0), (None, 0)])
async def test_a_grader_that_can_see_is_shown_images(
    sees: bool | None, shown: int, model_server: ModelServer
) -> None:
    model_server.script = lambda _: calls_tool("GradeDraft", DRAFT)
    image = produced("chart.png", "", kind="image", note="PNG, 2 × 2 pixels")
    trace = trace_of([WROTE]).model_copy(
        update={
            "produced": (
                produced("a.md", PASSAGE),
                image.model_copy(update={"picture": "iVBORw0KGgo="}),
            )
        }
    )
    await graded(model_server.url, trace, judge_sees_images=sees)
    (request,) = model_server.requests
    content = request["messages"][-1]["content"]
    blocks = content if isinstance(content, list) else []
    urls = [block["image_url"]["url"] for block in blocks if block["type"] == "image_url"]
    assert urls == ["data:image/png;base64,iVBORw0KGgo="] * shown
    assert "PNG, 2 × 2 pixels" in str(content)
