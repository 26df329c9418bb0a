"""What agents were asked to do: the prompt, what they were given, and how success is told."""

from collections.abc import Iterator
from typing import assert_never

from assay_contracts.reports import Report
from assay_contracts.tasks import Check, CommandCheck, FileCheck, PatternCheck, ProgramCheck, Task
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import bullets
from assay_reporting.text import quoted


def tasks(report: Report) -> str:
    if not report.tasks:
        return ""
    parts = (part for task in report.tasks for part in _task(task))
    return "\n\n".join((f"## {phrase('Tasks')}", *parts))


def _task(task: Task) -> Iterator[str]:
    yield f"### {task.task_id}"
    yield phrase("**Asked:** {prompt}", prompt=quoted(task.prompt, 2000))
    if task.files:
        given = ", ".join(quoted(file.path, 100) for file in task.files)
        yield phrase("**Given:** {files}", files=given)
    yield phrase("**Success:** {criterion}", criterion=quoted(task.success_criterion, 1000))
    if task.checks:
        listed = bullets(map(_check, task.checks))
        yield f"{phrase('**Checked by code:**')}\n\n{listed}"


def _check(check: Check) -> str:
    match check:
        case CommandCheck():
            return phrase(
                "{command} exits with {code}",
                command=quoted(check.command, 500),
                code=check.exit_code,
            )
        case FileCheck():
            return phrase("{path} is there and is not empty", path=quoted(check.path, 200))
        case PatternCheck(path=None):
            return phrase(
                "the answer or what was printed has {pattern}", pattern=quoted(check.pattern, 300)
            )
        case PatternCheck():
            return phrase(
                "{path} has {pattern}",
                path=quoted(check.path or "", 200),
                pattern=quoted(check.pattern, 300),
            )
        case ProgramCheck():
            return phrase("a program ends with 0: {program}", program=quoted(check.source, 1500))
        case _:
            assert_never(check)
