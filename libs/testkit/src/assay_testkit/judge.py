"""Small skills, stores in memory, and the judge's real agents on whatever policy, for tests."""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from assay_agentkit.bounds import Bounds
from assay_contracts.base import ModelUse
from assay_contracts.grades import Grade, GradingRequested
from assay_contracts.reports import Report, ReportRequested, RunReport
from assay_contracts.runs import ProducedFile, TaskOutcome, Trace, TraceStep
from assay_contracts.scores import Scores
from assay_contracts.skills import BundleRef, Dependencies
from assay_contracts.tasks import CheckResult, FileCheck, Task, TaskFile
from assay_contracts.validations import ValidationRequested, Verdict
from assay_judge.adapters.agents import DeepAgents, NamedModel
from assay_judge.domain.plan import rules_for
from assay_judge.ports import StoreFailed
from assay_rehearsal.conversation import Policy
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
) -> DeepAgents:
    """The judge's real agents; each policy stands in for a language model."""
    return DeepAgents(
        planner_model=NamedModel(RehearsalModel(policy=planner), REHEARSAL_MODEL),
        grader_model=NamedModel(RehearsalModel(policy=grader), REHEARSAL_MODEL),
        reporter_model=NamedModel(RehearsalModel(policy=reporter), REHEARSAL_MODEL),
        bounds=bounds,
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
