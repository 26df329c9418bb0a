"""Whether tasks with folders of their own could still get in each other's way. Pure."""

import re
from collections.abc import Iterable
from typing import Final

_PLACES: Final = (
    ("a fixed place for temporary files", re.compile(r"(?<![\w.-])/(?:var/)?tmp\b|\bTMPDIR\b")),
    (
        "the home folder",
        re.compile(r"(?<![\w/])~/|\$\{?HOME\b|expanduser|Path\.home|homedir\(|/home/"),
    ),
    ("the shared workspace", re.compile(r"/workspace/(?!skills\b)")),
    (
        "a port of the machine",
        re.compile(
            r"\blocalhost\b|\b127\.0\.0\.1\b|\b0\.0\.0\.0\b|\.listen\(|\.bind\(|--port\b"
            r"|http\.server|runserver|uvicorn|gunicorn|flask run"
        ),
    ),
)


def meeting_place(texts: Iterable[str]) -> str | None:
    """Where tasks that follow these texts could meet; None where nothing suggests that they do.

    Wary: a place that is only mentioned counts, since going one after another costs but time.
    """
    for text in texts:
        for place, pattern in _PLACES:
            if pattern.search(text):
                return place
    return None
