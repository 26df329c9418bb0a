"""The reference of settings names every setting there is, with what it means."""

import re
from typing import Final

from tests.architecture.packages import ROOT, SHIPPED, modules
from tests.docs.pages import PAGES, name_of, rows_of

from assay_cli.settings_reference import rendered

PAGE: Final = ROOT / "docs" / "configuration.md"
VARIABLE: Final = re.compile(r"\b(?:ASSAY|DAYTONA|OTEL)_[A-Z][A-Z_]*[A-Z]\b")


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == rendered(), "run `make docs` and read what changed"


def test_every_setting_says_what_it_means() -> None:
    for name, _, meaning in rows_of(PAGE.read_text()):
        assert len(meaning.split()) > 3, f"the docstring of {name} says {meaning!r}"
        assert meaning.endswith("."), f"the docstring of {name} is no sentence: {meaning!r}"


def test_every_variable_in_source_and_pages_is_there() -> None:
    known = set(VARIABLE.findall(PAGE.read_text()))
    sources = [path for package in SHIPPED for path in modules(package)]
    for path in (*sources, *PAGES):
        unknown = set(VARIABLE.findall(path.read_text())) - known
        assert not unknown, f"{name_of(path)} speaks of {unknown}"
