"""Plausible input files for documented commands: small, deterministic, each variant different."""

import base64
import json
import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Final

from assay_contracts.tasks import TaskFile
from assay_rehearsal.planner import binary_inputs
from assay_skillkit.document import SampleFile
from assay_skillkit.file_names import extension

_RECORDS: Final = ("orders", "visits", "readings", "parcels", "members", "tickets")
_TEXTS: Final = ("minutes", "letter", "memo", "journal", "story", "bulletin")
_SETTINGS: Final = ("settings", "profile", "service", "station", "device", "garden")
_CODE: Final = ("worker", "client", "ledger", "basket", "courier", "clerk")
_NAMES_BY_KIND: Final = {
    **dict.fromkeys(("csv", "tsv", "json", "jsonl", "xml", "sql", "/"), _RECORDS),
    **dict.fromkeys(("yaml", "yml", "toml", "ini"), _SETTINGS),
    **dict.fromkeys(("py", "js", "ts", "sh"), _CODE),
}
_PLACES: Final = ("north", "south", "east", "west")
_GOODS: Final = ("lamp", "chair", "kettle", "mirror", "basket")
_COLUMN_FLAG: Final = re.compile(
    r"--?[\w-]*(?:col|column|columns|field|fields|key|group|by|sort|value|metric|date|index|x|y)"
    r"[ =]+[\"']?([A-Za-z_][\w,]*)"
)
_COLUMN_READ: Final = re.compile(r"\b(?:row|record|item|entry|line)\[[\"']([A-Za-z_]\w*)[\"']\]")
_COLUMNS_SAID: Final = re.compile(r"[^.\n]*\b(?:columns?|fields?|keys?)\b[^.\n]*")
_MOST_COLUMNS: Final = 12
_ROWS: Final = 8


def file_name(kind: str, variant: int, *, taken: Sequence[str], avoid: str) -> str:
    """A name for an input of that kind; never one that is taken or has to do with `avoid`."""
    names = _NAMES_BY_KIND.get(kind, _TEXTS)
    rotated = [names[(variant + shift) % len(names)] for shift in range(len(names))]
    ending = "/" if kind == "/" else f".{kind or 'txt'}"
    free = [
        f"{name}{ending}"
        for name in rotated
        if name.rstrip("s") not in avoid and f"{name}{ending}" not in taken
    ]
    return free[0] if free else f"given-{variant + 1}-{len(taken) + 1}{ending}"


def input_files(
    name: str, documented: str, about: str, variant: int, samples: Sequence[SampleFile]
) -> tuple[TaskFile, ...]:
    """The file or, for a folder, the files to put where a task says `name`.

    Args:
        name: What the task calls it.
        documented: What the skill's document calls it; a sample of that name is gone by.
        about: Commands, scripts and prose, where names of columns and kinds of files are looked
            for.
        variant: Which of the equally plausible contents.
        samples: Files that the document shows.
    """
    if name.endswith("/"):
        return tuple(
            _made(f"{name}{part}", about, variant) for part in _parts_of_folder(name, about)
        )
    sample = next(
        (s for s in samples if posixpath.basename(s.path) == posixpath.basename(documented)), None
    )
    if sample:
        return (TaskFile(path=name, content=_varied(sample.content, extension(name), variant)),)
    return (_made(name, about, variant),)


def _parts_of_folder(name: str, about: str) -> tuple[str, ...]:
    """What lies in a folder of that name: what the skill reads from folders, if it says so."""
    kinds = [kind for kind in _IN_FOLDERS if re.search(rf"\*?\.{kind}\b", about)]
    named = [f"{part}.{kind}" for kind in kinds[:3] for part in ("spring", "summer")]
    if not named and re.search(r"photo|image|picture|screenshot", f"{name} {about}", re.IGNORECASE):
        return ("harbour.png", "garden.png", "notes.txt")
    return tuple(dict.fromkeys((*named, *_FOLDER)))


_FOLDER: Final = ("spring.txt", "summer.csv", "autumn.md")
_IN_FOLDERS: Final = (
    "md",
    "csv",
    "json",
    "txt",
    "py",
    "js",
    "html",
    "log",
    "yaml",
    "wav",
    "pdf",
    "png",
)


def _made(path: str, about: str, variant: int) -> TaskFile:
    kind = extension(path)
    if binary := binary_inputs.MAKERS.get(kind):
        lines = [_sentence(variant, row) for row in range(4)]
        data = binary(lines, _rows(variant, _hinted_columns(about)))
        return TaskFile(path=path, content=base64.b64encode(data).decode(), encoding="base64")
    return TaskFile(path=path, content=_content(kind, about, variant))


def _varied(sample: str, kind: str, variant: int) -> str:
    """The documented sample, and for later variants something like it."""
    if variant == 0:
        return sample
    if kind in {"csv", "tsv"}:
        header, *rows = sample.splitlines()
        turned = rows[variant % len(rows) :] + rows[: variant % len(rows)] if rows else rows
        return "\n".join([header, *turned, *rows[: variant % 3]]) + "\n"
    if kind == "json":
        try:
            value = json.loads(sample)
        except ValueError:
            return sample
        varied = value[::-1] + value[:variant] if isinstance(value, list) else value
        return json.dumps(varied, ensure_ascii=False, indent=variant + 1) + "\n"
    return sample if kind in _STRUCTURED else sample + _sentence(variant, variant) + "\n"


def _content(kind: str, command: str, variant: int) -> str:
    make = _MAKERS.get(kind, _text)
    return make(variant, _hinted_columns(command))


def _hinted_columns(command: str) -> tuple[str, ...]:
    """Names that the skill uses as if they were columns or keys, the first of many."""
    flagged = [name for match in _COLUMN_FLAG.findall(command) for name in match.split(",") if name]
    read = _COLUMN_READ.findall(command)
    listed = [
        name
        for sentence in _COLUMNS_SAID.findall(command)
        for name in re.findall(r"`([A-Za-z_]\w*(?:,[A-Za-z_]\w*)*)`", sentence)
    ]
    said = [part for name in listed for part in name.split(",")]
    return tuple(dict.fromkeys((*flagged, *said, *read)))[:_MOST_COLUMNS]


def _number(variant: int, row: int) -> int:
    return (variant * 7 + row * 5) % 23 + 3


def _rows(variant: int, extra: Sequence[str]) -> list[dict[str, str | int | float]]:
    rows = []
    for row in range(_ROWS + variant):
        record: dict[str, str | int | float] = {
            "date": f"2025-0{1 + row % 6}-{10 + _number(variant, row) % 18}",
            "region": _PLACES[(row + variant) % len(_PLACES)],
            "item": _GOODS[(row * 2 + variant) % len(_GOODS)],
            "quantity": _number(variant, row),
            "price": round(4.25 + _number(variant + 1, row) * 0.75, 2),
        }
        for name in extra:
            record.setdefault(name, _value_for(name, variant, row))
        rows.append(record)
    return rows


def _value_for(column: str, variant: int, row: int) -> str | int:
    if "date" in column.lower() or "time" in column.lower():
        return f"2025-0{1 + row % 6}-1{row % 9}"
    if re.search(r"name|category|group|type|status|label|city|country", column, re.IGNORECASE):
        return _GOODS[(row + variant) % len(_GOODS)]
    return _number(variant, row) * 10


def _table(separator: str) -> Callable[[int, Sequence[str]], str]:
    def make(variant: int, extra: Sequence[str]) -> str:
        rows = _rows(variant, extra)
        lines = [separator.join(rows[0]), *(separator.join(map(str, r.values())) for r in rows)]
        return "\n".join(lines) + "\n"

    return make


def _json(variant: int, extra: Sequence[str]) -> str:
    return json.dumps(_rows(variant, extra)[:5], indent=2) + "\n"


def _jsonl(variant: int, extra: Sequence[str]) -> str:
    return "".join(json.dumps(row) + "\n" for row in _rows(variant, extra)[:5])


def _sentence(variant: int, row: int) -> str:
    place, thing = _PLACES[(row + variant) % 4], _GOODS[(row * 2 + variant) % 5]
    return (
        f"On the {row + 3}th we sold {_number(variant, row)} of the {thing} in the {place}, "
        f"and people asked for more."
    )


def _text(variant: int, _: Sequence[str]) -> str:
    return "\n".join(_sentence(variant, row) for row in range(6)) + "\n"


def _markdown(variant: int, _: Sequence[str]) -> str:
    points = "\n".join(f"- {_sentence(variant, row)}" for row in range(4))
    return f"# Week {variant + 12}\n\n{_sentence(variant, 9)}\n\n## What happened\n\n{points}\n"


def _html(variant: int, _: Sequence[str]) -> str:
    parts = "".join(f"<p>{_sentence(variant, row)}</p>\n" for row in range(3))
    return (
        f"<!doctype html>\n<html><head><title>Week {variant + 12}</title></head>\n<body>\n"
        f"<h1>Week {variant + 12}</h1>\n{parts}</body></html>\n"
    )


def _xml(variant: int, extra: Sequence[str]) -> str:
    rows = "".join(
        "  <row>" + "".join(f"<{k}>{v}</{k}>" for k, v in row.items()) + "</row>\n"
        for row in _rows(variant, extra)[:4]
    )
    return f'<?xml version="1.0"?>\n<rows>\n{rows}</rows>\n'


def _yaml(variant: int, _: Sequence[str]) -> str:
    return f"name: {_GOODS[variant % 5]}\nlimit: {_number(variant, 1)}\nplaces:\n" + "".join(
        f"  - {place}\n" for place in _PLACES[: 2 + variant % 3]
    )


def _toml(variant: int, _: Sequence[str]) -> str:
    return f'[main]\nname = "{_GOODS[variant % 5]}"\nlimit = {_number(variant, 1)}\n'


def _ini(variant: int, _: Sequence[str]) -> str:
    return f"[main]\nname = {_GOODS[variant % 5]}\nlimit = {_number(variant, 1)}\n"


def _log(variant: int, _: Sequence[str]) -> str:
    levels = ("INFO", "WARNING", "ERROR", "INFO")
    return "".join(
        f"2025-03-1{row % 9} 10:{20 + row}:0{variant % 9} {levels[(row + variant) % 4]} "
        f"{_GOODS[row % 5]}: took {_number(variant, row)} ms\n"
        for row in range(10)
    )


def _sql(variant: int, _: Sequence[str]) -> str:
    rows = ", ".join(f"({row}, '{_GOODS[row % 5]}', {_number(variant, row)})" for row in range(5))
    return (
        "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, amount INTEGER);\n"
        f"INSERT INTO things VALUES {rows};\n"
        "SELECT name, SUM(amount) FROM things GROUP BY name;\n"
    )


def _python(variant: int, _: Sequence[str]) -> str:
    return (
        f'"""Adds up what was sold of the {_GOODS[variant % 5]}."""\n\n\n'
        "def total(amounts):\n"
        '    """The sum of all amounts."""\n'
        "    result = 0\n"
        "    for amount in amounts:\n"
        "        result = result + amount\n"
        "    return result\n\n\n"
        f"print(total([{_number(variant, 1)}, {_number(variant, 2)}]))\n"
    )


def _javascript(variant: int, _: Sequence[str]) -> str:
    return (
        "function total(amounts) {\n  let result = 0;\n"
        "  for (const amount of amounts) {\n    result += amount;\n  }\n  return result;\n}\n"
        f"console.log(total([{_number(variant, 1)}, {_number(variant, 2)}]));\n"
    )


def _shell(variant: int, _: Sequence[str]) -> str:
    return f'#!/bin/sh\nset -eu\ncount={_number(variant, 1)}\necho "counted $count"\n'


def _svg(variant: int, _: Sequence[str]) -> str:
    size = 40 + variant
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}">\n'
        f'  <circle cx="20" cy="20" r="{10 + variant}" fill="#336699"/>\n</svg>\n'
    )


_MAKERS: Final[dict[str, Callable[[int, Sequence[str]], str]]] = {
    "csv": _table(","),
    "tsv": _table("\t"),
    "json": _json,
    "jsonl": _jsonl,
    "md": _markdown,
    "html": _html,
    "htm": _html,
    "xml": _xml,
    "yaml": _yaml,
    "yml": _yaml,
    "toml": _toml,
    "ini": _ini,
    "log": _log,
    "sql": _sql,
    "py": _python,
    "js": _javascript,
    "ts": _javascript,
    "sh": _shell,
    "svg": _svg,
}
_STRUCTURED: Final = frozenset(_MAKERS) - {"md", "log"}
