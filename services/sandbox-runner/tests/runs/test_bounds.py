"""Bounds of a task: its agent runs into them, the run goes on, and the outcome names them."""

from dataclasses import replace
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatResult
from typing_extensions import override

from assay_rehearsal.conversation import Reply, ToolUse, Turn
from assay_rehearsal.model import RehearsalModel
from assay_sandbox_runner.adapters.executor import DeepAgentsForRun
from assay_testkit.runner import COUNTED, NOTES, SCRIPT, Runner, a_run, a_task, finished


async def test_model_that_never_stops_hits_the_bound_on_steps(runner: Runner) -> None:
    skill = runner.store.add_skill()

    def restless(turn: Turn) -> Reply:
        return Reply(calls=(ToolUse("execute", {"command": f"echo {turn.number}"}),))

    result = finished(
        await runner.use_case(restless, model_calls=4)(a_run("offline", skill, tasks=(a_task(),)))
    )

    (outcome,) = result.outcomes
    assert outcome.bounds_hit == ("steps",)
    assert outcome.commands == 4
    assert outcome.answer == ""


async def test_hanging_task_hits_the_bound_on_time_and_the_next_goes_on(runner: Runner) -> None:
    hang = f"{SCRIPT}\nif 'six' in text: import time; time.sleep(600)\n"
    skill = runner.store.add_skill(script=hang)
    six = NOTES.model_copy(update={"content": "six"})

    result = finished(
        await runner.use_case(task_seconds=4)(
            a_run("offline", skill, tasks=(a_task("t1", files=(six,)), a_task("t2", *COUNTED)))
        )
    )

    hung, done = result.outcomes
    assert hung.bounds_hit == ("time",)
    last = runner.store.traces[hung.trace_key].steps[-1]
    assert (last.tool, last.failed, last.exit_code) == ("execute", True, None)
    assert done.bounds_hit == ()
    assert all(check.passed for check in done.checks)


async def test_hanging_tasks_end_before_the_run_does(runner: Runner) -> None:
    skill = runner.store.add_skill(script="#!/usr/bin/env python3\nimport time; time.sleep(600)\n")
    tasks = (a_task("t1"), a_task("t2"))

    result = finished(await runner.use_case()(a_run("offline", skill, tasks=tasks, time_limit_s=5)))

    assert [outcome.bounds_hit for outcome in result.outcomes] == [("time",), ("time",)]


async def test_flood_of_output_is_cut_and_named(runner: Runner) -> None:
    skill = runner.store.add_skill(script=f"{SCRIPT}\nprint('x' * 2_000_000)\n")

    result = finished(await runner.use_case()(a_run("offline", skill, tasks=(a_task(),))))

    (outcome,) = result.outcomes
    assert outcome.bounds_hit == ("output",)
    step = runner.store.traces[outcome.trace_key].steps[-1]
    assert step.truncated
    assert step.exit_code == 0
    assert step.output.startswith("words: 5")
    assert len(step.output) <= 30_000


class Chatty(RehearsalModel):
    """A model whose every answer costs 600 tokens."""

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        result = super()._generate(messages, stop, run_manager, **kwargs)
        message = result.generations[0].message
        assert isinstance(message, AIMessage)
        message.usage_metadata = UsageMetadata(
            input_tokens=500, output_tokens=100, total_tokens=600
        )
        return result


async def test_each_task_stops_at_its_share_of_the_tokens_and_says_so(runner: Runner) -> None:
    skill = runner.store.add_skill()

    def restless_on_the_first(turn: Turn) -> Reply:
        if "horse" not in turn.request:
            return Reply("Done.")
        return Reply(calls=(ToolUse("execute", {"command": f"echo {turn.number}"}),))

    model = Chatty(policy=restless_on_the_first)
    run = replace(
        runner.use_case(), agents_for_run=DeepAgentsForRun(model=model, label="m", model_calls=25)
    )
    request = a_run(
        "offline", skill, tasks=(a_task("t1", prompt="Paint a horse."), a_task("t2"))
    ).model_copy(update={"token_budget": 3600})

    result = finished(await run(request))

    greedy, modest = result.outcomes
    assert greedy.bounds_hit == ("tokens",)
    assert greedy.commands == 3
    assert greedy.answer == ""
    assert runner.store.traces[greedy.trace_key].bounds_hit == ("tokens",)
    assert modest.bounds_hit == ()
    assert modest.answer == "Done."
    assert result.model is not None
    assert result.model.tokens == 4 * 600
