"""The YAML that most skills write, read without a YAML library, which takes fifty times as long.

Only what can be read in one way is: one `key: value` on each line, values plain or in quotes that
hold no escapes, and at most one level of keys below another. Everything else is left alone.
"""

import re
from typing import Final, TypeAlias

_ROW: Final = re.compile(
    r"""(?P<indent>|\ \ )(?P<key>[A-Za-z][A-Za-z0-9_-]*):
    (?:\ +(?:
        (?P<plain>[^\W_](?:[\w .,;!?()'"/+*&%=<>@$^~|-]*(?<!\ ))?)
        |'(?P<single>[^'\\"]*)'
        |"(?P<double>[^'\\"]*)"
    ))?\ *""",
    re.VERBOSE,
)

Value: TypeAlias = str | list["Value"] | dict[str, "Value"]
"""What YAML holds where every scalar is text."""


def read_plain_yaml(yaml: str) -> tuple[dict[str, Value], dict[str, int]] | None:
    """The values and the line of each top-level key, or None if this is for a YAML library."""
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    below: dict[str, Value] | None = None
    for number, row in enumerate(yaml.split("\n"), start=1):
        if not row:
            continue
        match = _ROW.fullmatch(row) if row.isprintable() and number > 1 else None
        if match is None:
            return None
        key, value = match["key"], _value(match)
        if match["indent"]:
            if below is None or value is None or key in below:
                return None
            below[key] = value
            continue
        if key in values or below == {}:
            return None
        below = {} if value is None else None
        values[key] = value or "" if below is None else below
        lines[key] = number
    return None if not values or below == {} else (values, lines)


def _value(match: re.Match[str]) -> str | None:
    return next(
        (match[name] for name in ("plain", "single", "double") if match[name] is not None), None
    )
