"""The way back: a SKILL.md from its parts."""

import re
from typing import Final

_WIDEST_SHORT_ESCAPE: Final = 0xFFFF
_PLAIN: Final = re.compile(r"^[A-Za-z][A-Za-z0-9 _.,;()/+-]*(?<! )$")


def render_skill_md(
    *,
    name: str,
    description: str,
    body: str,
    license: str | None = None,  # noqa: A002  # the field's own name
    compatibility: str | None = None,
    allowed_tools: str | None = None,
    metadata: dict[str, str] | None = None,
) -> str:
    """SKILL.md text that reads back as these parts. The body is set off by an empty line."""
    fields = {
        "name": name,
        "description": description,
        "license": license,
        "compatibility": compatibility,
        "allowed-tools": allowed_tools,
    }
    rows = [f"{key}: {_scalar(value)}" for key, value in fields.items() if value is not None]
    if metadata:
        rows.append("metadata:")
        rows.extend(f"  {_scalar(key)}: {_scalar(value)}" for key, value in metadata.items())
    return "\n".join(["---", *rows, "---", "", body.strip("\n"), ""])


def _scalar(text: str) -> str:
    if _PLAIN.match(text):
        return text
    return '"' + "".join(_escaped(c) for c in text) + '"'


def _escaped(c: str) -> str:
    if c in '"\\':
        return f"\\{c}"
    if c.isprintable():
        return c
    code = ord(c)
    return f"\\u{code:04x}" if code <= _WIDEST_SHORT_ESCAPE else f"\\U{code:08x}"
