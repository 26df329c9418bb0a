"""Failures of the platform: each is told as what it is, and says nothing about the skill."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from assay_contracts.base import ModelUse
from assay_contracts.runs import NetworkMode, RunFinished, RunKind, TraceStep
from assay_rehearsal.conversation import Reply, Turn
from assay_sandbox_runner.adapters.step_recorder import SkillNotDisclosed
from assay_sandbox_runner.domain.work_done import WorkDone
from assay_sandboxes.fake.provider import FakeProvider
from assay_sandboxes.port import (
    WORKSPACE,
    Environment,
    ExecResult,
    Limits,
    Sandbox,
    SandboxProvider,
    SandboxUnavailable,
)
from assay_testkit.runner import MANUAL, Runner, a_run, a_task


async def test_sandbox_that_cannot_be_had_is_a_failure_of_ours(tmp_path: Path) -> None:
    runner = Runner(FakeProvider(unavailable="User namespaces are switched off."), tmp_path)
    skill = runner.store.add_skill()

    result = await runner.use_case()(a_run("online", skill, tasks=(a_task(),)))

    assert isinstance(result, RunFinished)
    assert result.failure is not None
    assert result.failure.category == "sandbox"
    assert result.failure.reason == "User namespaces are switched off."
    assert result.outcomes == ()
    assert runner.mounts() == []


async def test_leaking_sandbox_is_a_failure_of_ours(tmp_path: Path) -> None:
    runner = Runner(FakeProvider(leaks=True), tmp_path)
    skill = runner.store.add_skill()

    kinds: tuple[RunKind, ...] = ("offline", "regression")
    for kind in kinds:
        result = await runner.use_case()(a_run(kind, skill, tasks=(a_task(),)))

        assert result.failure is not None
        assert result.failure.category == "sandbox"


async def test_run_that_overruns_is_a_failure_of_ours(tmp_path: Path) -> None:
    provider = FakeProvider()
    runner = Runner(provider, tmp_path)
    skill = runner.store.add_skill()

    class Never:
        async def work_on(self, *_: object, **__: object) -> WorkDone:
            await asyncio.Event().wait()
            raise AssertionError

        async def choose_for(self, *_: object, **__: object) -> tuple[TraceStep, ...]:
            return ()

        def model_use(self) -> ModelUse:
            return ModelUse(role="executor", model="x:y", prompt_version="1", calls=0, seconds=0)

        near_miss_use = model_use

        def was_installing(self) -> bool:
            return True

    run = replace(runner.use_case(), agents_for_run=lambda _: Never())
    result = await run(a_run("online", skill, tasks=(a_task(),), time_limit_s=0.2))

    assert result.failure is not None
    assert result.failure.category == "timeout"
    assert result.failure.reason == "The run was not done after 0.2 s."
    assert result.failure.while_installing
    assert runner.mounts() == []
    assert not any(sandbox.is_open for sandbox in provider.sandboxes)


async def test_failing_model_is_a_failure_of_ours(runner: Runner) -> None:
    skill = runner.store.add_skill()

    def down(_: Turn) -> Reply:
        raise ConnectionError("529 overloaded")

    result = await runner.use_case(down)(a_run("offline", skill, tasks=(a_task(),)))

    assert result.failure is not None
    assert result.failure.category == "model"
    assert "529 overloaded" in result.failure.reason


class LosingProvider:
    """A provider whose sandboxes are gone once a command holds the marker."""

    def __init__(self, provider: SandboxProvider, marker: str) -> None:
        self._provider = provider
        self._marker = marker
        self.base = provider.base

    @asynccontextmanager
    async def open(
        self,
        *,
        name: str,
        skills: Path,
        network: NetworkMode,
        environment: Environment | None = None,
        limits: Limits | None = None,
    ) -> AsyncIterator[Sandbox]:
        async with self._provider.open(
            name=name, skills=skills, network=network, environment=environment, limits=limits
        ) as sandbox:
            yield cast("Sandbox", LosingSandbox(sandbox, self._marker))


class LosingSandbox:
    def __init__(self, sandbox: Sandbox, marker: str) -> None:
        self._sandbox = sandbox
        self._marker = marker

    def __getattr__(self, name: str) -> object:
        return getattr(self._sandbox, name)

    async def execute(
        self, command: str, *, timeout_s: float | None = None, cwd: str = WORKSPACE
    ) -> ExecResult:
        if self._marker in command:
            raise SandboxUnavailable("The sandbox's host is gone.")
        return await self._sandbox.execute(command, timeout_s=timeout_s, cwd=cwd)


@pytest.mark.parametrize("marker", ["count.py", "fnmatch"], ids=["in a command", "in a file tool"])
async def test_sandbox_lost_on_the_way_is_a_failure_of_ours(runner: Runner, marker: str) -> None:
    skill = runner.store.add_skill()
    provider = cast("SandboxProvider", LosingProvider(runner.provider, marker))

    result = await replace(runner, provider=provider).use_case()(
        a_run("offline", skill, tasks=(a_task(),))
    )

    assert result.failure is not None
    assert result.failure.category == "sandbox"
    assert result.failure.reason == "The sandbox's host is gone."


async def test_missing_bundle_is_a_failure_of_ours(runner: Runner) -> None:
    skill = runner.store.add_skill()
    runner.store.objects.clear()

    result = await runner.use_case()(a_run("offline", skill, tasks=(a_task(),)))

    assert result.failure is not None
    assert result.failure.category == "bus"
    assert "is not in the object store" in result.failure.reason


async def test_changed_bundle_is_never_run(runner: Runner) -> None:
    skill = runner.store.add_skill()
    runner.store.objects[skill.bundle.key] += b"x"

    result = await runner.use_case()(a_run("offline", skill, tasks=(a_task(),)))

    assert result.failure is not None
    assert result.failure.category == "bus"
    assert "has sha256" in result.failure.reason


async def test_trace_that_cannot_be_kept_is_a_failure_of_ours(runner: Runner) -> None:
    skill = runner.store.add_skill()
    runner.store.refuses_traces = True

    result = await runner.use_case()(a_run("offline", skill, tasks=(a_task(),)))

    assert result.failure is not None
    assert result.failure.category == "bus"
    assert "the store is full" in result.failure.reason


async def test_skill_that_shadows_another_is_noticed(runner: Runner) -> None:
    skill = runner.store.add_skill()
    shadow = runner.store.add_skill("zz-shadow", MANUAL.replace("Counts", "Hides"))

    with pytest.raises(SkillNotDisclosed, match=r"was not told of (word-counter|zz-shadow)"):
        await runner.use_case()(a_run("offline", skill, shadow, tasks=(a_task(),)))
