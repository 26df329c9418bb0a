"""What a description says that a skill is *not* for: clauses that must not attract a task. Pure."""

import re
from typing import Final

_CLAUSE: Final = re.compile(r".+?(?:[.;!?]+(?=\s|$)|[。；！？]|$)\s*", re.DOTALL)
_NOT_FOR: Final = re.compile(
    r"\b(?:not|never)\s+(?:for|to be|meant|intended|suitable|suited|a\b|an\b|when|if|with|the\b)"
    r"|\b(?:do|does)(?:n['’]t| not)\b|\bcannot\b|\bskip (?:this|it)\b"
    r"|\bavoid\b|不适用|不用于|不要|不适合|并非",
    re.IGNORECASE,
)
_USE_ANOTHER: Final = re.compile(
    r"\buse\s+(?:the\s+)?[`'\"]?[a-z0-9]+(?:-[a-z0-9]+)+[`'\"]?|\buse\s+`[^`]+`"
    r"|\binstead\b|\b(?:see|prefer)\s+`?[a-z0-9]+(?:-[a-z0-9]+)+`?|请用|改用",
    re.IGNORECASE,
)
_TURN: Final = re.compile(
    r"\s*(?:[-–—,(]\s*|\b(?:and|but)\s+)(?=(?:not|never|NOT)\s+(?:for|to|a|an|when|if)\b"
    r"|(?:do|does) not\b|don['’]t\b)"
)
"""Where a clause turns from what a skill is for to what it is not for."""


def without_disclaimers(description: str) -> str:
    """The description without "not for …" and "use another-one for …"."""
    kept: list[str] = []
    for clause in _CLAUSE.findall(description):
        affirmed = _TURN.split(clause, maxsplit=1)[0]
        if not _NOT_FOR.search(affirmed) and not _USE_ANOTHER.search(affirmed):
            kept.append(affirmed if affirmed.endswith((" ", "。", "；")) else f"{affirmed} ")
    return "".join(kept).strip()
