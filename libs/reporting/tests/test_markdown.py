"""What a person reads: complete, verdict first, and nothing in it but what code put there."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_contracts.grades import ContestedCheck, Evidence, Grade, Lowering
from assay_contracts.reports import (
    ChosenInstead,
    ControlReport,
    ControlTask,
    DependencyReport,
    InstalledPackage,
    NearMissReport,
    Prose,
    TriggerReport,
    UnmetDependency,
)
from assay_contracts.runs import Package
from assay_contracts.skills import Dependencies, Finding
from assay_contracts.tasks import CheckResult, CommandCheck, FileCheck
from assay_reporting.markdown import render_markdown
from assay_reporting.text import quoted
from assay_testkit.reports import BEGAN, a_grade, a_report, a_run, an_outcome

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
        "## Tasks", *(f"### t{n}" for n in (1, 2, 3)),
        "## Online run", *(f"### t{n}: grade 5 of 5" for n in (1, 2, 3)),
        "## Offline run", *(f"### t{n}: grade 5 of 5" for n in (1, 2, 3)),
        "## Offline findings", "## Dependencies", "## Format", "## Versions and costs",
    ]  # fmt: skip
    assert "Every task was done as well without a network as with one." in markdown
    assert "**Network calls attempted:** 1, of which 1 counted for the score." in markdown
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


def test_a_lowered_grade_stands_beside_the_judges_own_with_the_rule() -> None:
    lowering = Lowering(rule="some-check-failed", at_most=4, reason="some check failed")
    contest = ContestedCheck(check=1, reason="It wants a typing error.", left_out=False)
    grade = a_grade("t1", 4, judge_grade=5, lowered_by=(lowering,), contested_checks=(contest,))
    failed = CheckResult(check=FileCheck(path="a.txt"), passed=False, detail="is not there")
    report = a_report(
        runs=(a_run("online", outcomes=(an_outcome("t1", checks=(failed,)),), grades=(grade,)),)
    )
    shown = render_markdown(report)
    assert "### t1: grade 4 of 5 (judge: 5)" in shown
    assert "> **Lowered by code** from the judge's 5 to 4:\n>\n> some check failed (rule" in shown
    assert "**Contested by the judge** (it still counts): It wants a typing error." in shown
    left_out = grade.model_copy(
        update={
            "grade": 5,
            "lowered_by": (),
            "contested_checks": (contest.model_copy(update={"left_out": True}),),
        }
    )
    run = report.runs[0].model_copy(update={"grades": (left_out,)})
    shown = render_markdown(report.model_copy(update={"runs": (run,)}))
    assert "(left out, for it fails on a right result too)" in shown
    assert "Lowered" not in shown


def test_the_crowd_and_who_was_chosen_instead_are_told() -> None:
    found = TriggerReport(
        crowd=("tidy-csv", "bread-dough-hydration"),
        neighbours=("bread-dough-hydration",),
        chosen_instead=(ChosenInstead(task_id="t2", skills=("tidy-csv",)),),
        near_misses=(
            NearMissReport(prompt="Draw a table.", skills_opened=("csv-analyzer",), silent=False),
            NearMissReport(prompt="Write a poem.", skills_opened=(), silent=True),
        ),
    )
    report = a_report(trigger=found)
    markdown = render_markdown(report)
    assert "Agents chose among 3 skills, 1 of them built in." in markdown
    assert "**Chosen instead in t2:** tidy-csv" in markdown
    assert "**Precision:** 1 of 2" in markdown
    assert "over-broad" in markdown
    assert "| Draw a table. | **no** | csv-analyzer |" in markdown
    assert "| Write a poem. | yes | – |" in markdown


@pytest.mark.parametrize(
    ("without", "said"),
    [
        (2, "adds 3 to the grade on average"),
        (5, "adds nothing measurable (+0 of a grade on average)"),
    ],
)
def test_grades_with_the_skill_and_without_it_are_compared(without: int, said: str) -> None:
    lift = 5.0 - without
    control = ControlReport(
        tasks=(ControlTask(task_id="t1", grade=5, grade_without=without),),
        lift=lift,
        effect="adds" if lift else "nothing_measurable",
    )
    markdown = render_markdown(a_report(control=control))
    assert f"**The skill {said}.**" in markdown
    assert f"| t1 | 5 of 5 | {without} of 5 |" in markdown


def test_a_skill_that_makes_it_worse_is_told_so_plainly() -> None:
    control = ControlReport(
        tasks=(ControlTask(task_id="t1", grade=3, grade_without=5),), lift=-2.0, effect="worse"
    )
    assert "makes it worse (-2 of a grade on average)" in render_markdown(a_report(control=control))


def test_a_control_that_failed_is_told_of() -> None:
    markdown = render_markdown(a_report(control=ControlReport(missing="model: it broke")))
    assert "**No control:** model: it broke" in markdown
    assert "## Lift" not in render_markdown(a_report())
