"""The report as a page and as JUnit XML: what a skill says stays text, and red means not passed."""

from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from assay_contracts.reports import RegressionReport, RegressionTask
from assay_contracts.validations import Verdict
from assay_reporting.html import POLICY, render_html
from assay_reporting.junit import render_junit
from assay_reporting.markdown import render_markdown
from assay_testkit.reports import a_report, a_run, sample_report

HOSTILE = (
    "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>"
    "[a](javascript:alert(3)) ![b](http://evil.example) <http://evil.example> </style><b>"
    "\x00\x1b[31m ]]> &lt; 表"
)
TEXT_ONLY = {
    "html", "head", "meta", "title", "style", "body", "main", "svg", "rect", "text",
    "h1", "h2", "h3", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "strong",
    "em", "code",
}  # fmt: skip
HARMLESS = {
    "lang", "charset", "http-equiv", "content", "name", "class", "role", "viewbox", "width",
    "height", "aria-label", "x", "y", "rx",
}  # fmt: skip


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""
        self.style = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


def page_of(html: str) -> Page:
    page = Page()
    page.feed(html)
    return page


def test_the_page_shows_what_the_markdown_says_and_the_scores_as_a_picture() -> None:
    report = sample_report()
    html = render_html(report, render_markdown(report))
    page = page_of(html)
    assert "grade 2 of 5" in page.words
    assert {"svg", "table", "h1"} <= page.elements
    assert "overall 72.5, completion 75.0, trigger 100.0, offline not run" in html
    assert '<th class="right">' in html


def test_nothing_a_skill_says_becomes_markup() -> None:
    report = sample_report(HOSTILE, verdict="failed")
    html = render_html(report, render_markdown(report))
    page = page_of(html)
    assert page.elements <= TEXT_ONLY
    assert page.attributes <= HARMLESS
    assert "<script>alert(1)</script>" in page.words
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY


def test_markup_in_markdown_that_was_not_made_harmless_stays_text_too() -> None:
    raw = "# A\n\n<script>alert(1)</script>\n\n[a](http://e.example) ![b](x) <http://e.example>\n"
    page = page_of(render_html(sample_report(), raw))
    assert page.elements <= TEXT_ONLY
    assert page.attributes <= HARMLESS


def suites(document: bytes) -> ET.Element:
    return ET.fromstring(document)  # noqa: S314  # made by the code under test


@pytest.mark.parametrize(
    ("verdict", "failures", "errors"), [("passed", 0, 0), ("failed", 2, 0), ("inconclusive", 0, 1)]
)
def test_junit_is_red_when_the_verdict_is_not_passed(
    verdict: Verdict, failures: int, errors: int
) -> None:
    root = suites(render_junit(sample_report(verdict=verdict)))
    assert (root.get("failures"), root.get("errors")) == (str(failures), str(errors))
    assert root.get("tests") == str(len(root.findall(".//testcase"))) == "2"
    for suite in root:
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
    told = root.find(".//testcase[@classname='online run']/system-out")
    assert told is not None
    assert "grade 2 of 5" in (told.text or "")


@pytest.mark.parametrize(("grade", "failures"), [(3, 1), (4, 0), (5, 0)])
def test_in_a_failed_validation_a_task_that_was_not_done_is_a_failure(
    grade: int, failures: int
) -> None:
    report = a_report(verdict="failed", runs=(a_run("online", (grade,)),))
    root = suites(render_junit(report))
    assert len(root.findall(".//testcase[@classname='online run']/failure")) == failures


def test_junit_holds_any_text() -> None:
    root = suites(render_junit(sample_report(HOSTILE, verdict="failed")))
    assert "<script>alert(1)</script>" in (root[0][0][0].text or "")


def test_a_broken_approved_skill_is_a_failure_of_its_own() -> None:
    broken = RegressionReport(
        skill_id=sample_report().skill_id,
        skill_name="beta",
        passed=False,
        tasks=(
            RegressionTask(task_id="t2", grade=1, grade_before=5, completed=False, reasons="No."),
        ),
    )
    report = sample_report(verdict="failed").model_copy(update={"regressions": (broken,)})
    case = suites(render_junit(report)).find(".//testcase[@name='beta']")
    assert case is not None
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == "t2: grade 1, No."
