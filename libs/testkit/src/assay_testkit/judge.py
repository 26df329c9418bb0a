"""Small skills, stores in memory, and the judge's real agents on whatever policy, for tests."""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from assay_agentkit.bounds import Bounds
from assay_agentkit.failures import AgentFailed
from assay_contracts.base import ModelUse
from assay_contracts.grades import Grade, GradingRequested
from assay_contracts.reports import Report, ReportRequested, RunReport
from assay_contracts.runs import JudgeTrace, ProducedFile, TaskOutcome, Trace, TraceStep
from assay_contracts.scores import Scores
from assay_contracts.skills import BundleRef, Dependencies
from assay_contracts.tasks import Check, CheckResult, FileCheck, PatternCheck, Task, TaskFile
from assay_contracts.validations import ValidationRequested, Verdict
from assay_contracts.workbench import ChecksTried, CommandRan, RunOnWorkbench, TryChecks
from assay_judge.adapters.agents import DeepAgents, NamedModel
from assay_judge.domain.plan import rules_for
from assay_judge.ports import StoreFailed, Traces, Workbench
from assay_judge.use_cases.grade_run import GradeRun
from assay_judge.use_cases.plan_tasks import PlanTasks
from assay_rehearsal.conversation import Policy, Reply, ToolUse, Turn
from assay_rehearsal.grader import grader_policy
from assay_rehearsal.model import REHEARSAL_MODEL, RehearsalModel
from assay_rehearsal.planner.policy import planner_policy
from assay_rehearsal.reporter import reporter_policy

VALIDATION: Final = UUID(int=1)
SKILL: Final = UUID(int=2)
REHEARSED_PLANNER: Final = planner_policy(rules_for)
BOUNDS: Final = Bounds(model_calls=8, seconds=30)
NOON: Final = datetime(2025, 3, 1, 12, tzinfo=UTC)

WORD_COUNTER: Final = {
    "SKILL.md": """---
name: word-counter
description: Counts the words and lines of a text file and writes the numbers to a report. Use when
  someone asks how long a text is.
---

# Counting words

Count words and lines of a text:

```bash
python3 scripts/count.py notes.txt --output report.txt
```

Show the numbers as JSON:

```bash
python3 scripts/count.py notes.txt --json
```

It prints:

```json
{"words": 5, "lines": 2}
```

Where `notes.txt` is:

```text
one two three
four five
```
""",
    "scripts/count.py": '"""Words and lines of a text."""\nimport sys\nprint(sys.argv)\n',
}


@dataclass(slots=True)
class JudgeTracesInMemory:
    kept: dict[str, JudgeTrace] = field(default_factory=dict)

    async def keep(self, key: str, trace: JudgeTrace) -> None:
        self.kept[key] = trace


@dataclass(slots=True)
class WorkbenchInMemory:
    """Looks at files and patterns, believes every command and program once there is a result."""

    answers: list[CommandRan | AgentFailed] = field(default_factory=list)
    """What commands come to, in order."""
    asked: list[RunOnWorkbench] = field(default_factory=list)
    tried: list[TryChecks] = field(default_factory=list)

    async def run(self, command: str, files: Sequence[TaskFile], *, seconds: float) -> CommandRan:
        self.asked.append(RunOnWorkbench(files=tuple(files), command=command, seconds=seconds))
        answer = self.answers.pop(0)
        if isinstance(answer, AgentFailed):
            raise answer
        return answer

    async def try_checks(self, question: TryChecks) -> ChecksTried:
        self.tried.append(question)
        given = {file.path: file.to_bytes() for file in question.inputs}
        reference = question.reference
        if reference is None:
            return ChecksTried(on_inputs=_results(question.checks, given, None))
        right = given | {file.path: file.to_bytes() for file in reference.files}
        return ChecksTried(
            on_inputs=_results(question.checks, given, None),
            on_reference=_results(question.checks, right, reference.answer),
        )


def _results(
    checks: Sequence[Check], files: Mapping[str, bytes], answer: str | None
) -> tuple[CheckResult, ...]:
    results = []
    for check in checks:
        match check:
            case FileCheck():
                passed = bool(files.get(check.path))
            case PatternCheck():
                text = (answer or "").encode() if check.path is None else files.get(check.path, b"")
                passed = re.search(check.pattern, text.decode(errors="replace")) is not None
            case _:
                passed = answer is not None
        results.append(CheckResult(check=check, passed=passed, detail="as it is" * (not passed)))
    return tuple(results)


@dataclass(frozen=True, slots=True)
class BundlesInMemory:
    data: dict[str, bytes] = field(default_factory=dict)

    async def get(self, ref: BundleRef) -> bytes:
        if ref.key not in self.data:
            raise StoreFailed(f"bundles/{ref.key} is not in the object store.")
        return self.data[ref.key]


@dataclass(frozen=True, slots=True)
class TracesInMemory:
    traces: dict[str, Trace] = field(default_factory=dict)

    async def get(self, key: str) -> Trace:
        if key not in self.traces:
            raise StoreFailed(f"traces/{key} is not in the object store.")
        return self.traces[key]


def bundle_of(name: str, files: Mapping[str, str | bytes]) -> bytes:
    """A bundle as ingest makes them: every file below a folder of the skill's name."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for path, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(f"{name}/{path}"), content)
    return target.getvalue()


def judge_agents(
    *,
    planner: Policy = REHEARSED_PLANNER,
    grader: Policy = grader_policy,
    reporter: Policy = reporter_policy,
    bounds: Bounds = BOUNDS,
    workbench: Workbench | None = None,
) -> DeepAgents:
    """The judge's real agents; each policy stands in for a language model."""
    return DeepAgents(
        planner_model=NamedModel(RehearsalModel(policy=planner), REHEARSAL_MODEL),
        grader_model=NamedModel(RehearsalModel(policy=grader), REHEARSAL_MODEL),
        reporter_model=NamedModel(RehearsalModel(policy=reporter), REHEARSAL_MODEL),
        workbench=workbench or WorkbenchInMemory(),
        bounds=bounds,
    )


def planner_answering(
    *drafts: Mapping[str, object], near_misses: Sequence[str] = ()
) -> Callable[[Turn], Reply]:
    """A planner that has these tasks: it outlines them all, and prepares each when asked."""

    def policy(turn: Turn) -> Reply:
        if "TaskDraft" not in turn.tools:
            outlines = [{"need": f"Somebody needs what task {n} says."} for n in numbers(drafts)]
            plan = {"outlines": outlines, "near_misses": list(near_misses)}
            return Reply(calls=(ToolUse("TaskOutlines", plan),))
        texts = [str(message.text) for message in turn.messages]
        found = next(filter(None, (re.search(r'<assignment>{"number": (\d+)', t) for t in texts)))
        draft = {"reference": None, "files": [], **drafts[int(found[1]) - 1]}
        return Reply(calls=(ToolUse("TaskDraft", draft),))

    return policy


def numbers(things: Sequence[object]) -> range:
    return range(1, len(things) + 1)


def plan_tasks(
    bundles: BundlesInMemory,
    agents: DeepAgents,
    traces: "JudgeTracesInMemory | None" = None,
    *,
    needs_references: bool = False,
) -> PlanTasks:
    """The use case with these agents, and the workbench that they have."""
    return PlanTasks(
        bundles=bundles,
        agents=agents,
        workbench=agents.workbench,
        traces=traces or JudgeTracesInMemory(),
        needs_references=needs_references,
    )


def grade_run(traces: Traces, agents: DeepAgents, samples: int = 1) -> GradeRun:
    """The use case with these agents."""
    return GradeRun(
        traces=traces, agents=agents, judge_traces=JudgeTracesInMemory(), samples=samples
    )


def planning_of(
    name: str, files: Mapping[str, str | bytes], task_count: int = 3
) -> tuple[BundlesInMemory, ValidationRequested]:
    """A request to plan for a skill, and the store that holds its bundle."""
    data = bundle_of(name, files)
    digest = hashlib.sha256(data).hexdigest()
    request = ValidationRequested(
        validation_id=VALIDATION,
        step_id=f"{VALIDATION}.plan",
        attempt=1,
        skill_id=SKILL,
        skill_name=name,
        bundle=BundleRef(key=digest, sha256=digest, size=len(data)),
        task_count=task_count,
    )
    return BundlesInMemory({digest: data}), request


def task(task_id: str = "t1", **changes: object) -> Task:
    base = Task(
        task_id=task_id,
        prompt="How many words has `memo.txt`? Save the number in `answer.txt`.",
        files=(TaskFile(path="memo.txt", content="one two three\n"),),
        success_criterion="answer.txt holds the number of words.",
        checks=(FileCheck(path="answer.txt"),),
    )
    return base.model_copy(update=changes)


def command(line: str, output: str = "3 words\n", exit_code: int = 0) -> TraceStep:
    return TraceStep(
        tool="execute",
        arguments=f'{{"command": "{line}"}}',
        output=output,
        exit_code=exit_code,
        failed=exit_code != 0,
        at=NOON,
        seconds=0.1,
    )


def step(tool: str, arguments: Mapping[str, str], output: str = "", **changes: object) -> TraceStep:
    """A call of a tool that is no command."""
    made = TraceStep(
        tool=tool, arguments=json.dumps(arguments), output=output, at=NOON, seconds=0.1
    )
    return made.model_copy(update=changes)


def produced(path: str, text: str, *, kind: str = "text", note: str = "") -> ProducedFile:
    return ProducedFile(path=path, size=len(text.encode()), kind=kind, note=note, text=text)


def trace_of(
    steps: Sequence[TraceStep], *, answer: str = "Done: three words.", task_id: str = "t1"
) -> Trace:
    return Trace(
        task_id=task_id,
        prompt=task().prompt,
        steps=tuple(steps),
        answer=answer,
        files_made=("answer.txt",) if steps else (),
    )


def checked(*passed: bool) -> tuple[CheckResult, ...]:
    return tuple(
        CheckResult(
            check=FileCheck(path="answer.txt"),
            passed=ok,
            detail="answer.txt is there and is not empty" if ok else "answer.txt is not there",
        )
        for ok in passed
    )


def grading_of(
    *work: tuple[Trace, tuple[CheckResult, ...]],
) -> tuple[TracesInMemory, GradingRequested]:
    """A request to grade these traces, and the store that holds them."""
    outcomes = [
        TaskOutcome(
            task_id=trace.task_id,
            trace_key=f"trace-{trace.task_id}",
            skills_used=(),
            checks=checks,
            commands=len(trace.steps),
            seconds=0.1,
            answer=trace.answer,
        )
        for trace, checks in work
    ]
    request = GradingRequested(
        validation_id=VALIDATION,
        step_id=f"{VALIDATION}.grade-online",
        attempt=1,
        skill_id=SKILL,
        skill_name="word-counter",
        run_kind="online",
        tasks=tuple(task(trace.task_id) for trace, _ in work),
        outcomes=tuple(outcomes),
    )
    store = TracesInMemory({f"trace-{trace.task_id}": trace for trace, _ in work})
    return store, request


def report_of(
    *, grades: Sequence[Grade], verdict: Verdict = "passed", reason: str = "It works."
) -> Report:
    """A report on one online run with these grades."""
    outcomes = tuple(
        TaskOutcome(
            task_id=grade.task_id,
            trace_key=grade.task_id,
            skills_used=(),
            checks=checked(grade.grade > 2),
            commands=1,
            seconds=0.25,
            answer="Done.",
        )
        for grade in grades
    )
    run = RunReport(
        kind="online",
        outcomes=outcomes,
        grades=tuple(grades),
        network_calls=(),
        sandbox=None,
        packages_added=(),
        timings=None,
    )
    use = ModelUse(
        role="planner", model=REHEARSAL_MODEL, prompt_version="planner-1", calls=3, seconds=0.01
    )
    return Report(
        validation_id=VALIDATION,
        skill_id=SKILL,
        skill_name="word-counter",
        revision=1,
        kind="initial",
        bundle_sha256="a" * 64,
        validation_stage="completed",
        verdict=verdict,
        reason=reason,
        scores=Scores(completion=91.7, trigger=66.7, offline=None, overall=69.2),
        layer1_passed=True,
        layer2_passed=None,
        findings=(),
        dependencies=Dependencies(),
        tasks=tuple(task(grade.task_id) for grade in grades),
        runs=(run,),
        prose=None,
        models=(use,),
        rubric_version="rubric-1",
        queued_at=NOON,
        started_at=NOON,
        completed_at=NOON,
    )


def reporting_of(report: Report) -> ReportRequested:
    return ReportRequested(
        validation_id=VALIDATION,
        step_id=f"{VALIDATION}.report",
        attempt=1,
        skill_id=SKILL,
        skill_name=report.skill_name,
        report=report,
    )
