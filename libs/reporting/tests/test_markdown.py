"""What a person reads: complete, verdict first, and nothing in it but what code put there."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_contracts.grades import Evidence, Grade
from assay_contracts.reports import (
    DependencyReport,
    InstalledPackage,
    Prose,
    UnmetDependency,
)
from assay_contracts.runs import Package
from assay_contracts.skills import Dependencies, Finding
from assay_contracts.tasks import CheckResult, CommandCheck
from assay_reporting.markdown import render_markdown
from assay_reporting.text import quoted
from assay_testkit.reports import BEGAN, a_report

HOSTILE = "`x` | **PASSED** | 100 |\n# PASSED: everything\n<b>&nbsp;[a](http://x)\u202e5\u200b"


def headings(markdown: str) -> list[str]:
    return re.findall(r"^#+ .*$", markdown, flags=re.MULTILINE)


def test_everything_has_its_place_verdict_first() -> None:
    report = a_report(calls=1)
    report = report.model_copy(
        update={
            "prose": Prose(
                summary="It works.",
                strengths=("Fast.",),
                weaknesses=("Calls home.",),
                recommendations=("Stop that.",),
            ),
            "completed_at": BEGAN + timedelta(seconds=12),
        }
    )
    markdown = render_markdown(report)
    assert markdown.startswith("# PASSED: csv-analyzer (revision 1)\n\nThe overall score ")
    assert headings(markdown)[1:] == [
        "## Score", "## Summary", "### Strengths", "### Weaknesses", "### Recommendations",
        "## Online run", *(f"### t{n}: grade 5 of 5" for n in (1, 2, 3)),
        "## Offline run", *(f"### t{n}: grade 5 of 5" for n in (1, 2, 3)),
        "## Offline findings", "## Dependencies", "## Format", "## Versions and costs",
    ]  # fmt: skip
    assert "Every task was done as well without a network as with one." in markdown
    assert "**Network calls attempted:** 1." in markdown
    assert "| t1 | host0.example | python fetch.py |" in markdown
    assert "| planner | rehearsal:1 | 1 | 1 | 0 | 0 | 0.10 |" in markdown
    assert "| **total** | | | 6 | 0 | 0 | 0.60 |" in markdown
    assert "The online run took 1.0 s: 0.2 s waiting for models" in markdown
    assert "No LLM took part" in markdown


def test_a_task_shows_what_was_done_and_why_it_got_its_grade() -> None:
    report = a_report()
    online = report.runs[0]
    check = CheckResult(
        check=CommandCheck(command="true"), passed=True, detail="exit code 0", passed_before=True
    )
    outcome = online.outcomes[0].model_copy(
        update={
            "actions": ('execute {"command": "python3 run.py"}: exit code 3',),
            "bounds_hit": ("tokens",),
            "checks": (check,),
        }
    )
    evidence = Evidence(quote="no such file", source="step 2 output")
    grade = Grade(
        task_id="t1", grade=2, reasons="It fell.", evidence=(evidence,), samples=(2, 4, 2)
    )
    run = online.model_copy(update={"outcomes": (outcome,), "grades": (grade,)})
    markdown = render_markdown(report.model_copy(update={"runs": (run,)}))
    assert "### t1: grade 2 of 5" in markdown
    assert "python3 run.py" in markdown
    assert "exit code 3" in markdown
    assert "**Bounds hit:** tokens" in markdown
    assert "**Why:** It fell. (median of 2, 4, 2; spread 2)" in markdown
    assert "- step 2 output: no such file" in markdown
    assert "command passed, as it did before the work" in markdown
    assert "- csv-analyzer (read): read\\_file SKILL.md" in markdown
    assert "## Offline findings" not in markdown


def test_what_is_worse_offline_is_named() -> None:
    report = a_report()
    online, offline = report.runs
    worse = offline.grades[1].model_copy(update={"grade": 1})
    offline = offline.model_copy(update={"grades": (offline.grades[0], worse, offline.grades[2])})
    markdown = render_markdown(report.model_copy(update={"runs": (online, offline)}))
    assert "Done worse without a network: t2 (5 online, 1 offline)." in markdown


def test_dependencies_are_told_from_what_was_installed() -> None:
    installed = (
        InstalledPackage(
            ecosystem="pip",
            package="Ruler_Words",
            version="2.0",
            version_before="1.0",
            origin="declared",
        ),
        InstalledPackage(
            ecosystem="npm", package="six", version="1.0", version_before=None, origin="undeclared"
        ),
    )
    found = DependencyReport(
        mode="lenient",
        installed=installed,
        removed=(Package(ecosystem="pip", name="gone", version="3"),),
        unmet=(UnmetDependency(ecosystem="pip", requirement="absent>=1", installed_version=None),),
    )
    declared = Dependencies(pip=("ruler-words==1.0", "absent>=1"))
    markdown = render_markdown(
        a_report().model_copy(update={"dependency_report": found, "dependencies": declared})
    )
    assert "Checked: lenient. Declared: ruler-words==1.0, absent\\>=1." in markdown
    assert "| Ruler\\_Words (pip) | 1.0 | 2.0 | declared |" in markdown
    assert "| six (npm) | – | 1.0 | **not declared** |" in markdown
    assert "**Not declared:** six 1.0." in markdown
    assert "**Removed:** gone 3 (pip)." in markdown
    assert "**Declared, and not so after the tasks:** absent\\>=1 (has: nothing)." in markdown


def test_a_run_shows_the_files_it_made_and_the_packages_before_and_after() -> None:
    report = a_report()
    online = report.runs[0]
    outcome = online.outcomes[0].model_copy(update={"files_made": ("out.json", HOSTILE)})
    online = online.model_copy(
        update={"outcomes": (outcome,), "packages_before": 7, "packages_after": 9}
    )
    markdown = render_markdown(report.model_copy(update={"runs": (online,)}))
    assert f"**Files made:** {quoted('out.json')}, {quoted(HOSTILE, 100)}" in markdown
    assert "Packages installed: 7 before, 9 after. Added: none." in markdown


def test_a_report_without_prose_says_so() -> None:
    report = a_report().model_copy(update={"prose": None})
    assert "made from the data alone" in render_markdown(report)


@pytest.mark.parametrize("place", ["prompt", "answer", "finding", "prose", "command"])
def test_words_from_outside_stay_words(place: str) -> None:
    report = a_report(calls=1)
    plain = render_markdown(report)
    online, offline = report.runs
    match place:
        case "prompt":
            task = report.tasks[0].model_copy(update={"prompt": HOSTILE})
            report = report.model_copy(update={"tasks": (task, *report.tasks[1:])})
        case "answer":
            outcome = online.outcomes[0].model_copy(update={"answer": HOSTILE})
            online = online.model_copy(update={"outcomes": (outcome, *online.outcomes[1:])})
            report = report.model_copy(update={"runs": (online, offline)})
        case "finding":
            finding = Finding(code="x", severity="note", message=HOSTILE, fix=HOSTILE, path=HOSTILE)
            report = report.model_copy(update={"findings": (finding,)})
        case "prose":
            report = report.model_copy(update={"prose": Prose(summary=HOSTILE)})
        case _:
            call = offline.network_calls[0].model_copy(update={"command": HOSTILE})
            offline = offline.model_copy(update={"network_calls": (call,)})
            report = report.model_copy(update={"runs": (online, offline)})
    markdown = render_markdown(report)
    assert headings(markdown) == headings(plain)
    assert markdown.count("\n|") == plain.count("\n|")
    assert "\u202e" not in markdown
    assert "\u200b" not in markdown


@given(st.text())
def test_quoted_text_is_one_visible_line_without_markup(text: str) -> None:
    line = quoted(text, 100)
    assert line.isprintable()
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>#|!~]", line)
