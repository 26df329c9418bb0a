"""A recording as TOML that people like to read: texts of several lines stay such."""

import json
from collections.abc import Mapping
from typing import Any


def recording_text(recording: Mapping[str, Any]) -> str:
    """The recording in the format that `load_recordings` reads."""
    lines: list[str] = []
    for name, tables in recording.items():
        if not _are_tables(tables):
            lines += [f"{name} = {_value(tables)}", ""]
            continue
        for table in tables:
            lines += [f"[[{name}]]", *_entries(table), ""]
    return "\n".join(lines)


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _entries(table: Mapping[str, Any]) -> list[str]:
    lines = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += [f"{_key(key)}.{_key(name)} = {_value(part)}" for name, part in value.items()]
        else:
            lines.append(f"{_key(key)} = {_value(value)}")
    return lines


def _value(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(part)}" for key, part in value.items())
        return f"{{ {inside} }}"
    parts = [_value(part) for part in value]
    if _are_tables(value):
        return "[\n" + "".join(f"    {part},\n" for part in parts) + "]"
    return f"[{', '.join(parts)}]"


def _text(text: str) -> str:
    is_plain = "'''" not in text and not text.endswith("'") and text.isprintable()
    if (
        "\n" in text
        and "'''" not in text
        and text.replace("\n", "").replace("\t", "").isprintable()
    ):
        return f"'''\n{text}'''" if not text.endswith("'") else json.dumps(text, ensure_ascii=False)
    if is_plain and ("\\" in text or '"' in text):
        return f"'{text}'" if "'" not in text else f"'''{text}'''"
    return json.dumps(text, ensure_ascii=False)


def _key(key: str) -> str:
    return (
        key
        if key.replace("_", "").replace("-", "").isalnum() and key.isascii()
        else json.dumps(key)
    )
