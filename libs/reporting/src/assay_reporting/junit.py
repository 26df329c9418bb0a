"""The report as JUnit XML, for what shows test results in CI. Pure.

It is red exactly when the verdict is not `passed`: a failed validation is a failure, one that the
platform could not finish is an error. A poorly graded task of a skill that passed all the same is
told in the output of its case.
"""

import re
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from assay_contracts.reports import RegressionReport, Report, RunReport
from assay_contracts.runs import TaskOutcome

COMPLETED_FROM: Final = 3
"""The lowest grade of a task that counts as done, if only partly."""
_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(report: Report) -> bytes:
    root = Element("testsuites", name=_text(f"assay {report.skill_name}"))
    _suite(root, report, "validation", [_verdict(report)])
    for run in report.runs:
        _suite(root, report, f"{run.kind} run", list(_tasks(report, run)))
    if report.regressions:
        skills = [_regression(each) for each in report.regressions]
        _suite(root, report, "approved skills", skills)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _suite(root: Element, report: Report, name: str, cases: list[Element]) -> None:
    suite = SubElement(
        root,
        "testsuite",
        name=_text(f"{report.skill_name} {name}"),
        tests=str(len(cases)),
        failures=str(sum(case.find("failure") is not None for case in cases)),
        errors=str(sum(case.find("error") is not None for case in cases)),
        skipped="0",
        time=f"{sum(float(case.get('time', '0')) for case in cases):.3f}",
        timestamp=report.completed_at.replace(tzinfo=None).isoformat(timespec="seconds"),
    )
    suite.extend(cases)


def _case(class_name: str, name: str, seconds: float) -> Element:
    return Element("testcase", classname=_text(class_name), name=_text(name), time=f"{seconds:.3f}")


def _verdict(report: Report) -> Element:
    seconds = (report.completed_at - (report.started_at or report.queued_at)).total_seconds()
    case = _case("validation", f"{report.skill_name} is validated", max(seconds, 0.0))
    if report.verdict == "failed":
        _add(case, "failure", report.reason)
    elif report.verdict == "inconclusive":
        _add(case, "error", report.reason)
    lines = [report.reason]
    if report.scores is not None:
        lines.append(f"overall {report.scores.overall:.1f}")
    lines += [f"{each.severity} {each.code}: {each.message}" for each in report.findings]
    SubElement(case, "system-out").text = _text("\n".join(lines))
    return case


def _tasks(report: Report, run: RunReport) -> Iterator[Element]:
    prompts = {task.task_id: task.prompt for task in report.tasks}
    for outcome in run.outcomes:
        prompt = prompts.get(outcome.task_id, "")
        yield _task(report, run, outcome, " ".join(prompt.split())[:200])


def _task(report: Report, run: RunReport, outcome: TaskOutcome, prompt: str) -> Element:
    case = _case(f"{run.kind} run", f"{outcome.task_id}: {prompt}", outcome.seconds)
    grade = next((each for each in run.grades if each.task_id == outcome.task_id), None)
    if grade is None:
        told = "not graded"
    else:
        told = f"grade {grade.grade} of 5: {grade.reasons}"
        if grade.grade < COMPLETED_FROM and report.verdict == "failed":
            _add(case, "failure", told)
    SubElement(case, "system-out").text = _text("\n".join((told, *outcome.actions)))
    return case


def _regression(regression: RegressionReport) -> Element:
    case = _case("approved skills", regression.skill_name, 0.0)
    broken = [task for task in regression.tasks if not task.completed]
    if not regression.passed:
        causes = [
            f"{change.package} {change.old_version} to {change.new_version or 'nothing'}"
            for change in regression.explained_by
        ]
        told = [f"{task.task_id}: grade {task.grade}, {task.reasons}" for task in broken]
        _add(case, "failure", "\n".join([*told, *causes]) or "no longer completes its tasks")
    return case


def _add(case: Element, kind: str, told: str) -> None:
    message = _text(" ".join(told.split())[:300])
    SubElement(case, kind, message=message, type=kind).text = _text(told)


def _text(value: str) -> str:
    """Without the characters that XML cannot hold, escaped or not."""
    return _NOT_IN_XML.sub("\ufffd", value)
