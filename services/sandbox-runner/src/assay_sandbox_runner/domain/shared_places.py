"""Whether tasks with folders of their own could still get in each other's way. Pure.

Only what a skill's programs and its documented commands *use* counts: a file of a fixed name
outside the task's folder, or a fixed port to listen on. What its prose, references, comments and
data mention does not, nor do names that are made anew each time.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Final

from assay_skillkit.document import parse_skill

_PROGRAM_ENDINGS: Final = frozenset(
    {".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".go"}
)
_COMMENTS: Final = re.compile(
    r"(?ms)^\s*[rR]?(\"\"\"|''').*?\1|^\s*/\*.*?\*/|^[ \t]*(?:#|//).*?$|(?<=\s)(?:# |// ).*?$"
)
_NEW_EACH_TIME: Final = re.compile(r"(?i)[{$]\S*?(?:pid|uuid|rand|time|stamp)|\$\$|XXX")
_TEMPORARY_FILE: Final = re.compile(
    r"(?<![\w.-])/(?:var/)?tmp/[\w.-][^\s\"'`)]*"
    r"|\$\{?TMPDIR(?::-[^}]*)?\}?/[\w.-][^\s\"'`)]*"
    r"|(?:gettempdir|tmpdir)\(\)\)?\s*[,/+]\s*f?[\"'`]/?\w[^\"'`]*"
    r"|[\"']/(?:var/)?tmp/?[\"']\)?\s*[,/+]\s*f?[\"']/?\w[^\"']*"
    r"|\b(?:cd|chdir\([\"'])\s*/(?:var/)?tmp\b"
)
_MAKER_OF_NAMES: Final = re.compile(r"mktemp|mkdtemp|mkstemp|NamedTemporaryFile|TemporaryDirectory")
_SHARED_WORKSPACE: Final = re.compile(r"/workspace/(?!skills\b|tasks\b)\w")
_HOME: Final = re.compile(r"(?<![\w/])~/|\$\{?HOME\b|expanduser|Path\.home|homedir\(|/home/\w")
_WRITES: Final = re.compile(
    r"write|dump\(|\.save|\btouch\b|[\"'](?:w|a|x|wb|ab|w\+)[\"']|copy|>>?\s*[\"']?(?:~|\$\{?HOME)"
    r"|\b(?:cp|mv|tee|rsync)\s"
)
_ASSIGNED: Final = re.compile(r"^\s*(?:const\s+|let\s+|var\s+|export\s+)?(\w+)\s*(?::\s*\w+\s*)?=")
_PORT: Final = r"[1-9]\d{1,4}\b"
_LISTENS: Final = re.compile(
    rf"\.bind\(\s*\(?\s*[\"'][^\"']*[\"']\s*,\s*{_PORT}|\.listen\(\s*{_PORT}"
    rf"|(?:Server|create_server)\(\s*\(\s*[\"'][^\"']*[\"']\s*,\s*{_PORT}"
    rf"|\b(?:run|serve|listen|start_server|createServer)\([^)\n]*\bport\s*[=:]\s*{_PORT}"
    rf"|--(?:port|bind)[= ]\S*?{_PORT}|\bnc\s+-\w*l\w*\s+(?:-p\s+)?{_PORT}"
    r"|-m\s+http\.server(?!\s+0\b)"
    r"|\bmanage\.py\s+runserver|\bflask\s+run\b|^\s*(?:uvicorn|gunicorn)\s+\w"
)
_FIXED_PORT: Final = re.compile(rf"(?i)\b(\w*port)\s*(?::\s*\w+\s*)?=\s*(?:[^\n]*\|\|\s*)?{_PORT}")


def tasks_must_take_turns(texts: Mapping[str, str]) -> bool:
    """Whether tasks that follow skills with these files could use one place at once.

    Args:
        texts: What each text file says, by its path.
    """
    return any(_uses_shared_place(code) for code in _code(texts))


def _code(texts: Mapping[str, str]) -> Iterator[str]:
    """What the files have run, without comments."""
    for path, text in texts.items():
        if posixpath.basename(path) == "SKILL.md":
            for command in parse_skill(text).commands:
                yield command.command
        elif posixpath.splitext(path)[1] in _PROGRAM_ENDINGS or text.startswith("#!"):
            yield _COMMENTS.sub("", text)


def _uses_shared_place(code: str) -> bool:
    return (
        _uses_temporary_file(code)
        or _SHARED_WORKSPACE.search(code) is not None
        or _writes_to_home(code)
        or _listens_on_fixed_port(code)
    )


def _uses_temporary_file(code: str) -> bool:
    return any(
        not _NEW_EACH_TIME.search(found.group())
        for line in code.splitlines()
        if not _MAKER_OF_NAMES.search(line)
        for found in _TEMPORARY_FILE.finditer(line)
    )


def _writes_to_home(code: str) -> bool:
    """On the line that names it, or by a variable that was given it: to read there harms nobody."""
    names: set[str] = set()
    for line in code.splitlines():
        at_home = _HOME.search(line) or any(re.search(rf"\b{name}\b", line) for name in names)
        if at_home and _WRITES.search(line):
            return True
        assigned = _ASSIGNED.match(line)
        if at_home and assigned:
            names.add(assigned[1])
    return False


def _listens_on_fixed_port(code: str) -> bool:
    if any(_LISTENS.search(line) for line in code.splitlines()):
        return True
    ports = {found[1] for found in _FIXED_PORT.finditer(code)}
    return any(
        re.search(rf"(?:listen|bind|Server|run|serve)\([^\n]*\b{name}\b", code) for name in ports
    )
