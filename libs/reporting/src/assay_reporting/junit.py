"""The report as JUnit XML, for what shows test results in CI.

It is red exactly when the verdict is not `passed`: a failed validation is a failure, one that the
platform could not finish is an error. A task that was not done by a skill that passed all the same
is mentioned in the output of its case.
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from assay_contracts.grades import is_done
from assay_contracts.reports import RegressionReport, Report, RunReport
from assay_contracts.runs import TaskOutcome
from assay_reporting.text import xml_text
from assay_reporting.view import (
    grade_of,
    grade_title,
    overall_row,
    prompt_of,
    run_title,
    seconds_taken,
    uncompleted,
    version_text,
)


def render_junit(report: Report) -> bytes:
    root = Element("testsuites", name=xml_text(f"assay {report.skill_name}"))
    _suite(root, report, "validation", [_verdict(report)])
    for run in report.runs:
        _suite(root, report, run_title(run), list(_tasks(report, run)))
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
        name=xml_text(f"{report.skill_name} {name}"),
        tests=str(len(cases)),
        failures=str(sum(case.find("failure") is not None for case in cases)),
        errors=str(sum(case.find("error") is not None for case in cases)),
        skipped="0",
        time=f"{sum(float(case.get('time', '0')) for case in cases):.3f}",
        timestamp=report.completed_at.replace(tzinfo=None).isoformat(timespec="seconds"),
    )
    suite.extend(cases)


def _case(class_name: str, name: str, seconds: float) -> Element:
    return Element(
        "testcase", classname=xml_text(class_name), name=xml_text(name), time=f"{seconds:.3f}"
    )


def _verdict(report: Report) -> Element:
    case = _case("validation", f"{report.skill_name} is validated", seconds_taken(report))
    if report.verdict == "failed":
        _add(case, "failure", report.reason)
    elif report.verdict == "inconclusive":
        _add(case, "error", report.reason)
    lines = [report.reason]
    if report.scores is not None:
        overall = overall_row(report.scores)
        lines.append(f"{overall.name} {overall.text}")
    lines += [f"{each.severity} {each.code}: {each.message}" for each in report.findings]
    SubElement(case, "system-out").text = xml_text("\n".join(lines))
    return case


def _tasks(report: Report, run: RunReport) -> Iterator[Element]:
    for outcome in run.outcomes:
        prompt = " ".join(prompt_of(report, outcome.task_id).split())
        case = _case(run_title(run), f"{outcome.task_id}: {prompt[:200]}", outcome.seconds)
        _add_grade(case, report, run, outcome)
        yield case


def _add_grade(case: Element, report: Report, run: RunReport, outcome: TaskOutcome) -> None:
    grade = grade_of(run, outcome.task_id)
    message = grade_title(grade)
    if grade is not None:
        message += f": {grade.reasons}"
        if not is_done(grade.grade) and report.verdict == "failed":
            _add(case, "failure", message)
    SubElement(case, "system-out").text = xml_text("\n".join((message, *outcome.actions)))


def _regression(regression: RegressionReport) -> Element:
    case = _case("approved skills", regression.skill_name, 0.0)
    if not regression.passed:
        broken = [
            f"{task.task_id}: grade {task.grade}, {task.reasons}"
            for task in uncompleted(regression)
        ]
        causes = [
            f"{change.package} {change.old_version} to {version_text(change.new_version)}"
            for change in regression.explained_by
        ]
        _add(case, "failure", "\n".join([*broken, *causes]) or "no longer completes its tasks")
    return case


def _add(case: Element, kind: str, message: str) -> None:
    short = xml_text(" ".join(message.split())[:300])
    SubElement(case, kind, message=short, type=kind).text = xml_text(message)
