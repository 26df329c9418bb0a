"""How much of a validation's time is its agents' own, with a slow and with an instant model."""

import asyncio
import os
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import nats
from nats.aio.msg import Msg

from assay_cli.embedded.stack import Stack
from assay_contracts.reports import Report, RunReport
from assay_contracts.runs import Trace
from assay_contracts.topology import JETSTREAM_PREFIX
from assay_contracts.validations import ValidationCompleted
from assay_judge.domain.plan import rules_for
from assay_rehearsal.conversation import Policy
from assay_rehearsal.executor import executor_policy
from assay_rehearsal.grader import grader_policy
from assay_rehearsal.planner.policy import planner_policy
from assay_rehearsal.reporter import reporter_policy
from assay_servicekit.objects import ObjectStore
from assay_testkit.models import Answer, answered_by, running_model_server, tools_offered
from bench.bench_pipeline import renamed
from bench.report import Bench

LATENCY_S: Final = 1.0
SLOW_VALIDATIONS: Final = 3
INSTANT_VALIDATIONS: Final = 15
CRITICAL_BAR: Final = 0.85
PATIENCE_S: Final = 300.0
PLANNER: Final = planner_policy(rules_for)
POLICIES: Final[dict[str, Policy]] = {
    "TaskOutlines": PLANNER,
    "TaskDraft": PLANNER,
    "GradeDraft": grader_policy,
    "ProseDraft": reporter_policy,
}
"""By the tool that the role answers with; executors have none."""


@dataclass(slots=True)
class Conversation:
    answers_with: str | None
    """Name of the tool that the role answers with; executors have none."""
    opening: str
    """What the model was told and asked at first."""
    seconds: float = 0.0
    """What the model has taken for it, turn by turn."""


@dataclass(slots=True)
class SlowModel:
    """Answers as the rehearsal would, after a while, and notes what each conversation took."""

    latency_s: float
    conversations: list[Conversation] = field(default_factory=list)
    """In the order in which they were begun."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: dict[str, Any]) -> Answer:
        began = time.perf_counter()
        conversation = self._of(request)
        policy = POLICIES.get(conversation.answers_with or "", executor_policy)
        answer = answered_by(policy)(request)
        time.sleep(max(0.0, self.latency_s - (time.perf_counter() - began)))
        conversation.seconds += time.perf_counter() - began
        return answer

    def _of(self, request: dict[str, Any]) -> Conversation:
        tool = next((tool for tool in tools_offered(request) if tool in POLICIES), None)
        opening = "".join(str(message["content"]) for message in request["messages"][:2])
        with self._lock:
            if any(message["role"] == "assistant" for message in request["messages"]):
                return next(c for c in reversed(self.conversations) if c.opening == opening)
            self.conversations.append(Conversation(tool, opening))
            return self.conversations[-1]

    def critical_path(self, report: Report, traces: Mapping[str, Trace]) -> float:
        """The longest chain of model calls and commands of the one validation it was asked for."""
        alone = [
            c.seconds
            for c in self.conversations
            if c.answers_with in {"TaskOutlines", "ProseDraft"}
        ]
        preparers = [c.seconds for c in self.conversations if c.answers_with == "TaskDraft"]
        graders = [c.seconds for c in self.conversations if c.answers_with == "GradeDraft"]
        path = sum(alone) + max(preparers)
        for number, run in enumerate(report.runs):
            path += max(
                self._turns(traces[outcome.trace_key].prompt, number)
                + commands(traces[outcome.trace_key])
                for outcome in run.outcomes
            )
            count = len(run.grades)
            path += max(graders[number * count : (number + 1) * count])
        return path

    def _turns(self, prompt: str, run_number: int) -> float:
        executors = [
            c.seconds
            for c in self.conversations
            if c.answers_with is None and c.opening.endswith(prompt)
        ]
        return executors[run_number]


def commands(trace: Trace) -> float:
    """How long the agent waited for the sandbox; calls of one turn go side by side."""
    waited, until = 0.0, 0.0
    for step in sorted(trace.steps, key=lambda step: step.at):
        began = step.at.timestamp()
        ended = began + step.seconds
        waited += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return waited


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@dataclass(frozen=True, slots=True)
class Client:
    """Uploads skills and hears how their validations end."""

    http: httpx.AsyncClient
    heard: asyncio.Queue[ValidationCompleted] = field(default_factory=asyncio.Queue)

    async def hear(self, message: Msg) -> None:
        await self.heard.put(ValidationCompleted.model_validate_json(message.data))

    async def upload(self, name: str) -> None:
        answer = await self.http.post(
            "/api/admin/skills/upload", files={"file": ("skill.zip", renamed(name))}
        )
        answer.raise_for_status()

    async def completed(self) -> ValidationCompleted:
        completed = await asyncio.wait_for(self.heard.get(), PATIENCE_S)
        assert completed.verdict == "passed", completed.reason
        return completed

    async def report(self, completed: ValidationCompleted) -> Report:
        answer = await self.http.get(completed.report.url)
        answer.raise_for_status()
        return Report.model_validate_json(answer.content)


@asynccontextmanager
async def client_of(stack: Stack) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {stack.admin_token}"}
    observer = await nats.connect(stack.observer_url)
    async with httpx.AsyncClient(base_url=stack.url, headers=headers, timeout=60) as http:
        client = Client(http)
        await observer.subscribe(ValidationCompleted.SUBJECT, cb=client.hear)
        await observer.flush()
        try:
            yield client
        finally:
            await observer.close()


async def run(bench: Bench) -> None:
    await slow(bench)
    await instant(bench)


# -- a model that takes its time ------------------------------------------------------------------


async def slow(bench: Bench) -> None:
    """One validation's wall time against the longest chain of what had to wait for each other."""
    model = SlowModel(LATENCY_S)
    with running_model_server(model) as server:
        settings = {
            "ASSAY_JUDGE_MODEL": "openai:slow",
            "ASSAY_EXECUTOR_MODEL": "openai:slow",
            "ASSAY_MODEL_BASE_URL": server.url,
            "ASSAY_MODEL_API_KEY": "none-needed",
        }
        with environment(**settings), tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            async with Stack(Path(folder)) as stack, client_of(stack) as client:
                measured = [
                    await one_slow(stack, client, model, f"slow-facts-{number}")
                    for number in range(SLOW_VALIDATIONS + 1)
                ]
    # The first one pays for imports and caches, once in a service's life.
    walls, paths = zip(*measured[1:], strict=True)
    bench.show(
        f"one validation, model answering after {LATENCY_S:g} s (median)",
        f"{statistics.median(walls):.2f} s, critical path {statistics.median(paths):.2f} s",
    )
    share = statistics.median(path / wall for wall, path in measured[1:])
    bench.reach("share of it that is critical path (median)", share, CRITICAL_BAR, "of 1")


async def one_slow(
    stack: Stack, client: Client, model: SlowModel, name: str
) -> tuple[float, float]:
    """Wall time and critical path of one validation, in seconds."""
    model.conversations.clear()
    await client.upload(name)
    completed = await client.completed()
    report = await client.report(completed)
    wall = (completed.timings.completed_at - completed.timings.queued_at).total_seconds()
    return wall, model.critical_path(report, await traces_of(stack, report.runs))


async def traces_of(stack: Stack, runs: Sequence[RunReport]) -> dict[str, Trace]:
    bus = await nats.connect(stack.bus_url("judge"))
    store = ObjectStore(lambda: bus, lambda: bus.jetstream(prefix=JETSTREAM_PREFIX))
    keys = [outcome.trace_key for run in runs for outcome in run.outcomes]
    try:
        found = {key: await store.get("traces", key) for key in keys}
    finally:
        await bus.close()
    return {key: Trace.model_validate_json(data) for key, data in found.items()}


# -- a model that takes none ----------------------------------------------------------------------


async def instant(bench: Bench) -> None:
    """How many validations a machine carries when nothing waits for a model."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        async with Stack(Path(folder)) as stack, client_of(stack) as client:
            await client.upload("warm-facts")
            await client.completed()
            cpu_before, began = cpu_seconds(stack), time.perf_counter()
            for number in range(INSTANT_VALIDATIONS):
                await client.upload(f"quick-facts-{number}")
            for _ in range(INSTANT_VALIDATIONS):
                await client.completed()
            took = time.perf_counter() - began
            cpu = cpu_seconds(stack) - cpu_before
    cores = os.cpu_count() or 1
    bench.show(
        f"validations a minute, instant model, {cores} cores",
        f"{60 * INSTANT_VALIDATIONS / took:.1f}",
    )
    bench.show("CPU seconds of one validation", f"{cpu / INSTANT_VALIDATIONS:.2f} s")


def cpu_seconds(stack: Stack) -> float:
    """CPU time of the stack's processes, their children and what those waited for."""
    ticks = os.sysconf("SC_CLK_TCK")
    children: dict[int, list[int]] = defaultdict(list)
    spent: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children[int(fields[1])].append(int(folder.name))
        spent[int(folder.name)] = sum(map(int, fields[11:15])) / ticks
    total, todo = 0.0, list(stack.pids().values())
    while todo:
        process = todo.pop()
        total += spent.get(process, 0.0)
        todo += children[process]
    return total
