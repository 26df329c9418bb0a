"""Reports in the reader's language: every phrase has its Chinese, and nothing else changes."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

from assay_contracts import (
    attribution,
    base,
    costs,
    coverage,
    obstacles,
    reports,
    runs,
    skills,
    validations,
)
from assay_contracts.scores import DIMENSIONS
from assay_reporting.html import render_html
from assay_reporting.markdown import render_markdown
from assay_reporting.markdown.coverage import _STATES
from assay_reporting.score_card import render_score_card
from assay_reporting.summary import render_summary
from assay_reporting.view import CAUSES, CHANGED, NOT_REPEATED, PART_OF_THE_SKILL, REPEATED
from assay_testkit.reports import mixed_report

SOURCE = Path(str(files("assay_reporting")))
CHINESE: dict[str, str] = json.loads((SOURCE / "chinese.json").read_text())
_FIELD = re.compile(r"\{\w+\}")


def spaced(values: Iterable[str]) -> Iterator[str]:
    return (value.replace("_", " ") for value in values)


def phrases_of_fixed_sets() -> set[str]:
    """What is said of values that contracts fix, each by its own name."""
    kinds = get_args(runs.RunKind)
    severities = get_args(skills.Severity)
    verdicts = get_args(validations.Verdict)
    return {
        *verdicts,
        *(verdict.upper() for verdict in verdicts),
        *kinds,
        *(f"{kind} run" for kind in kinds),
        *severities,
        *(f"format {severity}" for severity in severities),
        *get_args(runs.NetworkMode),
        *get_args(runs.UseKind),
        *get_args(runs.Bound),
        *get_args(base.Role),
        *get_args(reports.DependencyMode),
        *spaced(get_args(costs.CostPhase)),
        *get_args(attribution.ProgramEnd),
        *spaced(get_args(obstacles.ObstacleKind)),
        *spaced(get_args(coverage.ItemKind)),
        *("command", "file", "pattern", "program"),
        *_STATES.values(),
        *CAUSES.values(),
        *CHANGED.values(),
        *REPEATED.values(),
        *NOT_REPEATED.values(),
        *PART_OF_THE_SKILL.values(),
        *(text for row in DIMENSIONS for text in (row.name, row.absent, row.note_when_low) if text),
    }


def phrases_in_code() -> set[str]:
    calls = (
        node
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "phrase"
    )
    texts = (call.args[0] for call in calls)
    return {str(text.value) for text in texts if isinstance(text, ast.Constant)}


def test_every_phrase_has_its_chinese_and_the_table_has_nothing_else() -> None:
    assert set(CHINESE) == phrases_in_code() | phrases_of_fixed_sets()


@pytest.mark.parametrize("english", CHINESE)
def test_a_translation_fills_in_the_same_values(english: str) -> None:
    assert sorted(_FIELD.findall(CHINESE[english])) == sorted(_FIELD.findall(english))


def test_a_chinese_report_differs_in_words_alone() -> None:
    report = mixed_report(verdict="failed")
    english, chinese = render_markdown(report), render_markdown(report, "zh")

    assert chinese.startswith("# 未通过：csv-analyzer（修订版 1）")
    assert len(english.split("\n\n")) == len(chinese.split("\n\n"))
    assert english.count("|") == chinese.count("|")
    for task in report.tasks:
        assert task.prompt in chinese
    assert render_markdown(report) == english


def test_the_other_forms_speak_it_too() -> None:
    report = mixed_report(verdict="passed")

    page = render_html(report, render_markdown(report, "zh"), "zh")
    assert '<html lang="zh-Hans">' in page
    assert "<title>csv-analyzer: 通过</title>" in page
    assert render_summary(report, "zh").startswith("## ✅ csv\\-analyzer: 通过\n")
    assert render_score_card(report, "zh") is not None
