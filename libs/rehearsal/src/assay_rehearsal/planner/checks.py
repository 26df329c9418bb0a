"""What must be there when a documented command has done its work."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from assay_contracts.tasks import Check, CommandCheck, FileCheck, PatternCheck, TaskFile
from assay_rehearsal.task_commands import KnownCommand
from assay_skillkit.commands import DocumentedCommand
from assay_skillkit.file_names import FILE_NAME, extension

_PRINTING: Final = re.compile(
    r"\bprint\b|\bprintf\b|\becho\b|stdout|console\.(?:log|info|table)|\bputs\b|\bcat\b|logging\."
    r"|\.echo\(|\bhelp="
)
_COMPLAINING: Final = re.compile(
    r"print\([^\n]*file\s*=\s*sys\.stderr[^\n]*|console\.error[^\n]*|echo[^\n]*>&2[^\n]*"
)
_RESULTS: Final = ("result", "outcome", "finding", "answer", "overview")
_MOST_EXPECTED: Final = 4
_LABEL: Final = re.compile(r"^\s*[-*#]*\s*([A-Za-z][\w ]{1,40}?)\s*[:=]\s*\S")
_VARIES: Final = re.compile(r"\.\.\.|…|\d{4}-\d\d-\d\d|\d\d:\d\d|[<>{}]|\b\d+(?:\.\d+)?\s*m?s\b|/")


def is_silent(command: KnownCommand, script: str) -> bool:
    """Whether a command makes no file and, as far as its script shows, prints nothing."""
    makes_no_file = bool(command.shape.inputs) and not command.shape.outputs
    shown = _COMPLAINING.sub("", script)
    return makes_no_file and bool(script.strip()) and not _PRINTING.search(shown)


def result_name(command: KnownCommand, variant: int) -> str:
    """What a task calls the file that the result is wanted in."""
    name = f"{_RESULTS[variant % len(_RESULTS)]}-{variant + 1}"
    if command.shape.outputs:
        kind = extension(command.shape.outputs[-1])
        return f"{name}/" if kind == "/" else f"{name}.{kind or 'txt'}"
    return f"{name}.{'json' if _as_json(command.documented.expected_output) else 'txt'}"


def checks_for(
    documented: DocumentedCommand,
    *,
    result: str | None,
    inputs: Sequence[TaskFile],
    exact: bool,
    prints: bool,
) -> tuple[Check, ...]:
    """Checks that fail when the command fails, makes nothing, or makes something else.

    Args:
        documented: The command.
        result: File the result is wanted in; None where an input is changed in place.
        inputs: What the task gives.
        exact: The inputs are those that the document shows, so its shown output is to be had too.
        prints: The result is what the command prints.
    """
    if result is None:
        return tuple(FileCheck(path=file.path) for file in inputs)
    if result.endswith("/"):
        return (CommandCheck(command=f'test -n "$(ls -A {result})"'),)
    found: list[Check] = [FileCheck(path=result), *_form(result)]
    if prints:
        crash = "Traceback (most recent call"
        found.append(CommandCheck(command=f'test -s {result} && ! grep -q "{crash}" {result}'))
        found.extend(_documented_output(documented.expected_output, result, exact=exact))
    return tuple(found)


def _form(result: str) -> Iterator[Check]:
    kind = extension(result)
    if kind == "json":
        yield CommandCheck(command=f"python3 -m json.tool {result} > /dev/null")
    elif kind in {"html", "htm", "xml", "svg"}:
        yield PatternCheck(pattern=r"<[A-Za-z!?]", path=result)
    elif kind == "pdf":
        yield CommandCheck(command=f"head -c 4 {result} | grep -q %PDF")
    elif kind == "png":
        yield CommandCheck(command=f"head -c 4 {result} | grep -q PNG")


def _documented_output(expected: str, result: str, *, exact: bool) -> Iterator[Check]:
    value = _as_json(expected)
    if isinstance(value, dict):
        for key in list(value)[:_MOST_EXPECTED]:
            yield PatternCheck(pattern=re.escape(json.dumps(key)), path=result)
        return
    lines = [line for line in expected.splitlines() if line.strip()]
    labels = [match.group(1) for line in lines if (match := _LABEL.match(line))]
    for label in labels[:_MOST_EXPECTED]:
        yield PatternCheck(pattern=_loosely(label), path=result)
    if exact:
        fixed = [line for line in lines if not _VARIES.search(line) and not FILE_NAME.search(line)]
        for line in fixed[:_MOST_EXPECTED]:
            yield PatternCheck(pattern=_loosely(line), path=result)


def _loosely(text: str) -> str:
    return r"\s+".join(re.escape(word) for word in text.split())


def _as_json(text: str) -> object:
    try:
        return json.loads(text) if text.strip()[:1] in {"{", "["} else None
    except ValueError:
        return None
