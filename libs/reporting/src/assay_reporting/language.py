"""The reader's language. Sentences stand in the code in English; Chinese has a table of them.

While a form is rendered, `speaking` says for whom; `phrase` then gives the words. Numbers, names
and what skills, models and sandboxes said are the same in every language.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.resources import files
from typing import Final

from assay_contracts.reports import Language

_CHINESE: Final[dict[str, str]] = json.loads(
    files("assay_reporting").joinpath("chinese.json").read_text("utf-8")
)
_language: ContextVar[Language] = ContextVar("language", default="en")


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Within, phrases are in this language."""
    before = _language.set(language)
    try:
        yield
    finally:
        _language.reset(before)


def phrase(english: str, **values: object) -> str:
    """The words for it in the reader's language, with `{name}` filled in from `values`.

    What the table does not have stays English: it may come from a newer service than this one.
    """
    words = _CHINESE.get(english, english) if _language.get() == "zh" else english
    return words.format(**values) if values else words
