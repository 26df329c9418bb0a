"""The glossary defines words that the code uses, and the pages use the words it asks for."""

import re
from typing import Final

import pytest
from tests.architecture.packages import ROOT, SHIPPED, modules
from tests.docs.pages import PAGES, name_of, prose_of, rows_of

PAGE: Final = ROOT / "docs" / "glossary.md"
DEFINITIONS, PREFERENCES = PAGE.read_text().split("## Say this, not that")
WORDS: Final = [row[0] for row in rows_of(DEFINITIONS)]
INSTEAD: Final = {row[1]: row[0] for row in rows_of(PREFERENCES)}


@pytest.fixture(scope="module")
def source() -> str:
    return "\n".join(path.read_text() for package in SHIPPED for path in modules(package)).lower()


def test_no_word_is_defined_twice() -> None:
    assert len(WORDS) > 50
    assert len(set(WORDS)) == len(WORDS)


@pytest.mark.parametrize("word", WORDS)
def test_the_code_uses_the_word(word: str, source: str) -> None:
    # `work item` is `work_item` and `WorkItem` too, and a plural is the same word.
    assert re.search(word.replace(" ", "[ _-]?"), source), word


def test_every_word_that_is_asked_for_is_defined() -> None:
    assert set(INSTEAD.values()) <= set(WORDS)


@pytest.mark.parametrize("word", INSTEAD)
def test_pages_say_it_in_one_word(word: str) -> None:
    for page in PAGES:
        if page != PAGE:
            found = re.search(rf"\b{word}s?\b.*", prose_of(page), re.IGNORECASE)
            assert not found, f"{name_of(page)} says {found[0]!r}: say {INSTEAD[word]!r}"
