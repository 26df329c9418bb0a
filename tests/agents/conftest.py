"""A validation from upload to report in one process: every part real but the bus and the database.

What the services say to each other goes through the conductor's own rules; bundles, traces and
messages stay in memory; tasks run in real sandboxes.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest
from pydantic import SecretStr

from assay_agentkit.models import ModelSettings
from assay_contracts.base import Result, Work
from assay_contracts.grades import GradingRequested
from assay_contracts.reports import Report, ReportRequested
from assay_contracts.runs import MountedSkill, RunRequested
from assay_contracts.validations import ValidationRequested
from assay_judge.adapters.agents import DeepAgents
from assay_judge.app import open_agents
from assay_judge.settings import Settings as JudgeSettings
from assay_judge.use_cases.grade_run import GradeRun
from assay_judge.use_cases.plan_tasks import PlanTasks
from assay_judge.use_cases.write_report import WriteReport
from assay_rehearsal.executor import executor_policy
from assay_rehearsal.model import model_label, open_model
from assay_reporting.markdown import render_markdown
from assay_sandbox_runner.adapters.executor import DeepAgentsForRun
from assay_sandbox_runner.use_cases.carry_out_run import CarryOutRun
from assay_sandbox_runner.use_cases.clean_up import CleanUp
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.inputs import Admitted, ConductorInput
from assay_scorer.domain.report import build_report
from assay_scorer.domain.validation import Validation
from assay_servicekit.spending import costs_told, with_costs
from assay_skillkit.bundle import write_bundle
from assay_skillkit.check import CheckedSkill, check_archive
from assay_testkit.judge import BundlesInMemory, JudgeTracesInMemory, TracesInMemory
from assay_testkit.models import ModelServer, running_model_server
from assay_testkit.runner import Runner, Store
from assay_testkit.workbench import WorkbenchHere

SKILLS = Path(__file__).parents[1] / "skills"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TIMES = {"at", "seconds", "timings", "queued_at", "started_at", "completed_at"}


@dataclass(frozen=True, kw_only=True)
class Validated:
    """A validation that has ended, and everything it left behind."""

    report: Report
    markdown: str
    said: tuple[Result, ...]
    """What the workers said, in order."""
    traces: Mapping[str, str]
    """Each trace as JSON, by its key."""

    def lasting(self) -> str:
        """Everything but the times, as text that can be compared byte for byte."""
        kept = (self.report.model_dump_json(), *(self.traces[key] for key in sorted(self.traces)))
        return "\n".join(json.dumps(_timeless(json.loads(text)), indent=1) for text in kept)


@dataclass(kw_only=True)
class Platform:
    """The judge, the runner and the conductor, put together."""

    folder: Path
    model: str | None = None
    settings: ModelSettings = field(default_factory=ModelSettings)
    samples: int = 1
    judge_model_calls: int = 8
    judge_seconds: float = 120.0
    task_model_calls: int = 12
    task_seconds: float = 120.0
    command_seconds: float = 60.0
    run_seconds: float | None = None
    """Of each run; none means what the conductor gives it."""
    token_budget: int | None = None
    control: bool = False
    references: bool = False
    """Whether a planner that is a language model has to give a right result with each task."""
    provider: BubblewrapProvider | None = None
    """Shared with others; none means one of its own."""
    library: tuple[str, ...] = ()
    """Skills that agents see beside the one under test."""

    async def validate(self, name: str, files: Mapping[str, bytes] | None = None) -> Validated:
        """Take one skill through everything; `files` stands in for its folder."""
        checked, bundle = checked_bundle(name, files or files_of(name))
        assert checked.manifest is not None
        store = Store()
        mounted = store.add_bundle(name, bundle)
        beside = tuple(
            store.add_bundle(other, checked_bundle(other, files_of(other))[1])
            for other in self.library
            if other != name
        )
        validation = Validation(
            validation_id=uuid5(NAMESPACE_URL, f"validation:{name}"),
            skill_id=uuid5(NAMESPACE_URL, f"skill:{name}"),
            skill_name=name,
            revision=1,
            kind="initial",
            bundle=mounted.bundle,
            manifest=checked.manifest,
            findings=checked.findings,
            queued_at=NOW,
        )
        return await self._conduct(validation, store, beside)

    async def _conduct(
        self, validation: Validation, store: Store, beside: tuple[MountedSkill, ...]
    ) -> Validated:
        admitted = Admitted(token_budget=self.token_budget, control=self.control)
        decision = decide(validation, admitted, NOW)
        said: list[Result] = []
        asked: list[Work] = []
        while decision.validation.step != "done":
            asked += (o.message for o in decision.outgoing if isinstance(o.message, Work))
            work = asked.pop(0)
            if isinstance(work, RunRequested):
                seconds = self.run_seconds or work.time_limit_s
                beside_it = {"skills": (*work.skills, *beside), "time_limit_s": seconds}
                work = work.model_copy(update=beside_it)
            with costs_told() as told:
                result = with_costs(await self.worker(work, store)(work), told)
            said.append(result)
            assert isinstance(result, ConductorInput)
            decision = decide(decision.validation, result, NOW)
        for outgoing in decision.outgoing:
            if isinstance(outgoing.message, Work):
                await self.worker(outgoing.message, store)(outgoing.message)
        report = build_report(decision.validation)
        return Validated(
            report=report,
            markdown=render_markdown(report),
            said=tuple(said),
            traces={key: trace.model_dump_json() for key, trace in store.traces.items()},
        )

    def worker(self, work: Work, store: Store) -> Any:
        """The use case that carries this work out."""
        match work:
            case ValidationRequested():
                return PlanTasks(
                    bundles=BundlesInMemory(store.objects),
                    agents=self._agents,
                    workbench=self._agents.workbench,
                    traces=JudgeTracesInMemory(),
                    needs_references=self.references and self.model is not None,
                )
            case RunRequested():
                return self.runner(store)
            case GradingRequested():
                traces = TracesInMemory(store.traces)
                return GradeRun(
                    traces=traces,
                    agents=self._agents,
                    judge_traces=JudgeTracesInMemory(),
                    samples=self.samples,
                )
            case ReportRequested():
                return WriteReport(agents=self._agents)
            case _:
                runner = Runner(self._provider, self.folder / "runner", store)
                return CleanUp(environments=runner.environments)

    def runner(self, store: Store) -> CarryOutRun:
        run = Runner(self._provider, self.folder / "runner", store).use_case(
            task_seconds=self.task_seconds
        )
        return replace(
            run,
            agents_for_run=DeepAgentsForRun(
                model=open_model(self.model, policy=executor_policy, settings=self.settings),
                label=model_label(self.model),
                model_calls=self.task_model_calls,
            ),
            limits=replace(run.limits, command_seconds=self.command_seconds),
        )

    @cached_property
    def _provider(self) -> BubblewrapProvider:
        return self.provider or BubblewrapProvider(self.folder / "sandboxes")

    @cached_property
    def _agents(self) -> DeepAgents:
        settings = JudgeSettings.model_validate(
            {
                "nats_url": "nats://127.0.0.1:9",
                "judge_model": self.model,
                "judge_samples": self.samples,
                "judge_model_calls": self.judge_model_calls,
                "judge_timeout_s": self.judge_seconds,
                **self.settings.model_dump(),
            }
        )
        runner = Runner(self._provider, self.folder / "runner")
        return open_agents(settings, WorkbenchHere(runner.clean_sandboxes()))


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(part) for key, part in value.items() if key not in TIMES}
    if isinstance(value, str):
        # An action tells at its end how long it took.
        # A command that was killed tells when, which is later on a busy machine.
        return re.sub(r", \d+\.\d s$|ended after \d+ s", "", value)
    return [_timeless(part) for part in value] if isinstance(value, list) else value


def files_of(name: str) -> dict[str, bytes]:
    return files_below(SKILLS / name)


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def checked_bundle(name: str, files: Mapping[str, bytes]) -> tuple[CheckedSkill, bytes]:
    """What ingest makes of a skill: the outcome of its checks, and the bundle it stores."""
    upload, bundle = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(upload, "w") as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(f"{name}/{path}")
            entry.external_attr = (0o100755 if content.startswith(b"#!") else 0o100644) << 16
            archive.writestr(entry, content)
    checked = check_archive(upload, filename=f"{name}.zip", strict=False)
    assert checked.manifest is not None, [finding.message for finding in checked.findings]
    assert checked.files is not None
    write_bundle(checked.files, checked.manifest.name, bundle)
    return checked, bundle.getvalue()


@pytest.fixture
def platform(tmp_path: Path) -> Platform:
    """Without a language model."""
    return Platform(folder=tmp_path)


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    with running_model_server() as server:
        yield server


@pytest.fixture
def platform_with_model(tmp_path: Path, model_server: ModelServer) -> Callable[..., Platform]:
    """With a provider's real client, and `model_server` as the model behind it."""

    def make(**changes: Any) -> Platform:
        settings = ModelSettings(
            model_base_url=model_server.url,
            model_api_key=SecretStr(changes.pop("key", "test-key")),
            model_timeout_s=changes.pop("timeout_s", 20.0),
            model_max_retries=changes.pop("retries", 0),
        )
        return Platform(folder=tmp_path, model="openai:test-model", settings=settings, **changes)

    return make


@pytest.fixture(scope="session")
def open_platform() -> Callable[..., Platform]:
    return Platform
