"""Which paths a shell command touches, and with which program. Pure.

This reads commands, it does not run them: what is computed at run time (`$(...)`, `eval`) is not
followed. Quotes, `cd`, variables, loops, heredocs and `sh -c` are.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from assay_skillkit.shell.lexer import fragments

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_PATH_IN_TEXT: Final = re.compile(r"[\w./*?$~-]*/[\w./*?~-]+")
_PREFIXES: Final = frozenset(
    {"then", "do", "else", "if", "elif", "while", "until", "!", "time", "exec", "sudo", "nohup"}
    | {"env", "command", "nice", "stdbuf", "xargs", "export"}
)
_WITH_ARGUMENT: Final = frozenset({"timeout"})
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_TAKES_TEXT: Final = frozenset({"cat", "tee"})
_CODE_FLAGS: Final = frozenset({"-c", "-e", "--eval", "-p", "--print"})
_DEEPEST: Final = 4


@dataclass(frozen=True, slots=True)
class PathUse:
    """One path, absolute and normalised, that one program of a command is given."""

    program: str
    path: str
    is_program: bool = False
    """The path is itself what is run."""
    command: int = 0
    """Which of the line's simple commands it stands in."""
    decides: bool = True
    """Whether the line cannot end well unless this simple command does: only `&&` follows it."""


@dataclass(slots=True)
class _Shell:
    """What changes from one simple command to the next."""

    cwd: str
    variables: dict[str, list[str]] = field(default_factory=dict)
    commands: int = 0
    """Simple commands read so far."""

    def resolve(self, word: str) -> str:
        return posixpath.normpath(posixpath.join(self.cwd, word))

    def expand(self, word: str) -> list[str]:
        """The word with known variables put in; a loop variable gives one word for each value."""
        words = [word]
        for match in _VARIABLE.finditer(word):
            values = self.variables.get(match[1] or match[2])
            if values is not None:
                words = [text.replace(match[0], value) for text in words for value in values]
        return words


def paths_used(command: str, cwd: str) -> list[PathUse]:
    """Every path that the command's programs are given, in order, `cd` followed from `cwd`."""
    return list(_read(command, _Shell(cwd), 0))


def programs_of(command: str) -> tuple[str, ...]:
    """What each simple command of the line runs, as written, each once; `sudo` counts as one."""
    found: dict[str, None] = {}
    for simple in _simple_commands(command):
        found |= dict.fromkeys(word for word in simple.words if word == "sudo")
        found |= dict.fromkeys(_without_prefixes(simple.words, _Shell(""))[:1])
    return tuple(found)


def _read(command: str, shell: _Shell, depth: int) -> Iterator[PathUse]:
    if depth > _DEEPEST:
        return
    simples = _simple_commands(command)
    for place, simple in enumerate(simples):
        shell.commands += 1
        number = shell.commands
        decides = all(each.then == "&&" for each in simples[place:-1])
        for use in _paths_of(simple, shell, depth):
            nested = use.command > number
            yield replace(
                use,
                command=use.command if nested else number,
                decides=decides and (use.decides or not nested),
            )


@dataclass(slots=True)
class _SimpleCommand:
    """What stands between two of `;`, `&&`, `|` and their like."""

    words: list[str] = field(default_factory=list)
    """Targets of redirections stand among them."""
    here_documents: list[str] = field(default_factory=list)
    then: str = ""
    """What joins it to the next one."""


def _simple_commands(command: str) -> list[_SimpleCommand]:
    found = [_SimpleCommand()]
    awaiting: list[_SimpleCommand] = []
    in_word = False
    for fragment in fragments(command):
        match fragment.kind:
            case "bare" | "quoted" if in_word:
                found[-1].words[-1] += fragment.value
            case "bare" | "quoted":
                found[-1].words.append(fragment.value)
            case "operator" | "newline" if _separates(fragment.text):
                if found[-1].words:
                    found[-1].then = fragment.text.strip() or ";"
                found.append(_SimpleCommand())
            case "here_mark":
                awaiting.append(found[-1])
            case "here_body":
                awaiting.pop(0).here_documents.append(fragment.value)
            case "unclosed":
                found.extend(_SimpleCommand(row.split()) for row in fragment.text.split("\n"))
            case _:
                pass
        in_word = fragment.kind in ("bare", "quoted")
    return [simple for simple in found if simple.words]


def _separates(operator: str) -> bool:
    """Redirections do not: they stay with their command."""
    return not set(operator) & set("<>") or bool(set(operator) & set(";()"))


def _paths_of(simple: _SimpleCommand, shell: _Shell, depth: int) -> Iterator[PathUse]:
    words = _without_prefixes(simple.words, shell)
    if words[:1] == ["for"] and "in" in words[2:3]:
        shell.variables[words[1]] = [value for word in words[3:] for value in shell.expand(word)]
        return
    words = [expanded for word in words for expanded in shell.expand(word)]
    if not words:
        return
    program = posixpath.basename(words[0])
    if program == "cd":
        shell.cwd = shell.resolve(words[1]) if len(words) > 1 else shell.cwd
        return
    for text in simple.here_documents:
        if program in _SHELLS:
            yield from _read(text, shell, depth + 1)
        elif program not in _TAKES_TEXT:
            yield from _paths_in_code(program, text, shell)
    yield from _arguments(program, words, shell, depth)


def _without_prefixes(words: Sequence[str], shell: _Shell) -> list[str]:
    """Drop `VAR=x`, remembering it, and words such as `then`, `sudo` and `timeout 5`."""
    rest = list(words)
    while rest:
        assigned = _ASSIGNMENT.fullmatch(rest[0])
        if assigned:
            shell.variables[assigned[1]] = shell.expand(assigned[2])
        elif rest[0] in _WITH_ARGUMENT:
            rest = rest[1:]
        elif rest[0] not in _PREFIXES and rest[0] not in {"{", "}"}:
            return rest
        rest = rest[1:]
        while rest and rest[0].startswith("-"):
            rest = rest[1:]
    return rest


def _arguments(program: str, words: Sequence[str], shell: _Shell, depth: int) -> Iterator[PathUse]:
    if "/" in words[0]:
        yield PathUse(program, shell.resolve(words[0]), is_program=True)
    previous = ""
    for word in words[1:]:
        is_code = previous in _CODE_FLAGS or (
            program in _SHELLS and re.fullmatch(r"-\w*c", previous)
        )
        if is_code and program in _SHELLS:
            yield from _read(
                word, _Shell(shell.cwd, dict(shell.variables), shell.commands), depth + 1
            )
        elif is_code:
            yield from _paths_in_code(program, word, shell)
        elif previous == "-m":
            yield from _module(program, word, shell)
        elif not word.startswith("-"):
            yield PathUse(program, shell.resolve(word))
        elif "=" in word:
            yield PathUse(program, shell.resolve(word.partition("=")[2]))
        previous = word


def _module(program: str, name: str, shell: _Shell) -> Iterator[PathUse]:
    """`python -m a.b` runs `a/b.py` or `a/b/__main__.py`, found by way of the Python path."""
    path = name.replace(".", "/")
    places = [shell.cwd, *":".join(shell.variables.get("PYTHONPATH", [])).split(":")]
    for place in places:
        for file in (f"{path}.py", f"{path}/__main__.py"):
            if place:
                yield PathUse(program, shell.resolve(posixpath.join(place, file)))


def _paths_in_code(program: str, code: str, shell: _Shell) -> Iterator[PathUse]:
    for match in _PATH_IN_TEXT.finditer(code):
        yield PathUse(program, shell.resolve(match.group()))
