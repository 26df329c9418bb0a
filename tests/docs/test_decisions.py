"""Decisions have one format, one index, and numbers without gaps."""

import re
from pathlib import Path
from typing import Final

import pytest
from tests.architecture.packages import ROOT
from tests.docs.pages import name_of

FOLDER: Final = ROOT / "docs" / "decisions"
DECISIONS: Final = sorted(FOLDER.glob("[0-9]*.md"))
HEADINGS: Final = ["Context", "Decision", "Consequences", "When to revisit"]


def title_of(decision: Path) -> str:
    return decision.read_text().splitlines()[0].removeprefix("# ")


def test_numbers_have_no_gaps() -> None:
    assert [path.name[:5] for path in DECISIONS] == [
        f"{number:04}-" for number in range(1, len(DECISIONS) + 1)
    ]


@pytest.mark.parametrize("decision", DECISIONS, ids=name_of)
def test_every_decision_has_the_same_four_parts(decision: Path) -> None:
    text = decision.read_text()
    assert title_of(decision).startswith(f"{int(decision.name[:4])}. ")
    assert re.findall(r"^#+ (.+)$", text, re.MULTILINE)[1:] == HEADINGS
    for part in re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]:
        assert part.strip(), f"{decision.name} has an empty part"


def test_the_index_names_every_decision_by_its_title() -> None:
    index = re.findall(r"^- \[(.+)\]\((.+)\)$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert index == [(title_of(decision), decision.name) for decision in DECISIONS]
