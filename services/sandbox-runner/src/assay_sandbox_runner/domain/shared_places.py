"""Whether tasks with folders of their own could still get in each other's way. Pure."""

import re
from collections.abc import Iterable
from typing import Final

_TEMPORARY_FILES: Final = re.compile(r"(?<![\w.-])/(?:var/)?tmp\b|\bTMPDIR\b")
_HOME_FOLDER: Final = re.compile(r"(?<![\w/])~/|\$\{?HOME\b|expanduser|Path\.home|homedir\(|/home/")
_SHARED_WORKSPACE: Final = re.compile(r"/workspace/(?!skills\b)")
_PORT_OF_THE_MACHINE: Final = re.compile(
    r"\blocalhost\b|\b127\.0\.0\.1\b|\b0\.0\.0\.0\b|\.listen\(|\.bind\(|--port\b"
    r"|http\.server|runserver|uvicorn|gunicorn|flask run"
)
_SHARED_PLACES: Final = (_TEMPORARY_FILES, _HOME_FOLDER, _SHARED_WORKSPACE, _PORT_OF_THE_MACHINE)


def tasks_must_take_turns(texts: Iterable[str]) -> bool:
    """Whether tasks that follow these texts could use one place at once.

    Wary: a place that is only mentioned counts, since going one after another costs but time.
    """
    return any(place.search(text) for text in texts for place in _SHARED_PLACES)
