"""What a skill documents, item by item: commands, code, programs and references. Pure.

The rehearsal tries these items, and coverage is counted by them: both read the document here.
"""

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.coverage import ItemKind
from assay_skillkit.code_blocks import CodeBlock
from assay_skillkit.commands import DocumentedCommand
from assay_skillkit.document import SkillDocument
from assay_skillkit.shell.lexer import fragments
from assay_skillkit.shell.purpose import Purpose, programs_of
from assay_skillkit.shell.shapes import CommandShape, ShapeReader, is_program

MAX_ITEMS: Final = 200
MOST_COMMAND: Final = 4_000
"""Characters of a command that is tried."""

_OPTIONAL: Final = re.compile(
    r"\boptional(?:ly)?\b|\bif (?:you|somebody|someone|anybody)(?:'d)? (?:would )?(?:like|want)s?\b"
    r"|\bnice to have\b|\btroubleshooting\b|\bcontributing\b|\buninstall\b|可选|选用",
    re.IGNORECASE,
)
_NOT_RUN: Final[Mapping[Purpose, str]] = {
    "prose": "it is a sentence, not a command",
    "looks": "it would do the same without the skill, and shows nothing of it",
    "help": "a program that tells how to use it has not been used",
}
_RUNNERS: Final = re.compile(r"^(?:python[\d.]*|node|bash|sh|zsh|ruby|perl|deno|bun|uv|npx|uvx)$")
_OPTION: Final = re.compile(r"^--?[A-Za-z][\w-]*")
_WITH_SUBCOMMANDS: Final = frozenset(
    {"git", "npm", "pnpm", "yarn", "docker", "kubectl", "gh", "cargo", "go", "uv", "aws", "gcloud"}
    | {"az", "terraform", "helm", "poetry"}
)
_OF_A_PROJECT: Final = re.compile(r"^(?:npm|pnpm|yarn|bun)\s+(?:run\s+\S|test|start|exec|build)")
_PROGRAM_FILE: Final = re.compile(
    r"^(?:python3?|node|bash|sh|ruby|perl|deno run|uv run(?: python3?)?)\s+(?!-)([\w./-]+\.\w+)"
)
_SYSTEM_INSTALL: Final = re.compile(r"^(?:sudo\s+)?(?:apt|apt-get|brew|conda|mamba|dnf|apk)\b|sudo")
_PART_OR_TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|fixtures?|node_modules)/|(?:^|/)(?:test_|conftest|_)"
)
_HELPERS: Final = frozenset(
    {"cd", "export", "echo", "cat", "mkdir", "cp", "mv", "rm", "source", "sort", "head", "tail"}
    | {"grep"}
)


@dataclass(frozen=True, slots=True)
class Signature:
    """By what a command is known again when somebody runs it on other files."""

    program: str
    subcommand: str
    options: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentedItem:
    kind: ItemKind
    what: str
    line: int | None = None
    """In the body, counted from 1."""
    program: str = ""
    optional: bool = False
    not_run: str = ""
    """Why running it would show nothing, or cannot be done; empty for what is to be tried."""
    shape: CommandShape | None = None
    command: DocumentedCommand | None = None
    code: CodeBlock | None = None

    @property
    def is_to_be_tried(self) -> bool:
        return not self.not_run and (self.shape is not None or self.code is not None)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Documented names of the files that it is given."""
        given = self.code.inputs if self.code else ()
        return self.shape.inputs if self.shape else given

    @property
    def outputs(self) -> tuple[str, ...]:
        made = self.code.outputs if self.code else ()
        return self.shape.outputs if self.shape else made


def documented_items(
    document: SkillDocument, *, skill_name: str, files: Collection[str]
) -> tuple[DocumentedItem, ...]:
    """Everything that the document tells its reader of, in its order, each once.

    Args:
        document: The SKILL.md.
        skill_name: Name of the skill's folder.
        files: Paths in the skill, relative to its folder.
    """
    reader = ShapeReader(
        skill_name=skill_name,
        skill_files=files,
        samples=[sample.path for sample in document.samples],
    )
    commands = {each.command: each for each in document.commands if each.command.strip()}
    items = [_command_item(command, reader, files) for command in commands.values()]
    items += map(_code_item, document.code)
    items.sort(key=lambda item: item.line or 0)
    shown = {path for item in items if item.shape for path in item.shape.skill_files}
    scripts = (path for path in sorted(files) if is_entry_point(path) and path not in shown)
    items += [DocumentedItem(kind="script", what=path, program=path) for path in scripts]
    references = (path for path in document.references if path in set(files))
    items += [
        DocumentedItem(kind="reference", what=path)
        for path in dict.fromkeys(references)
        if path not in shown and not is_program(path)
    ]
    return tuple(items[:MAX_ITEMS])


def is_entry_point(path: str) -> bool:
    """Whether a file of the bundle looks like a program of its own, and no part or test of one."""
    if not is_program(path) or _PART_OR_TEST.search(path):
        return False
    return path.startswith(("scripts/", "bin/", "tools/")) and path.count("/") == 1


def signature_of(command: str, *, own: str = "") -> Signature:
    """By what a command is known again.

    Args:
        command: Documented, or as it was run.
        own: The skill's program in it, if it runs one.
    """
    words = [
        fragment.value if fragment.kind != "placeholder" else fragment.text
        for fragment in fragments(command.partition("\n")[0], notation=True)
        if fragment.kind in ("bare", "quoted", "placeholder")
    ]
    options = frozenset(match.group() for word in words if (match := _OPTION.match(word)))
    program = own or program_of(command)
    place = next((at for at, word in enumerate(words) if _names(word, program)), None)
    following = words[place + 1 :] if place is not None else []
    first = next((word for word in following if not word.startswith("-")), "")
    has_subcommand = program in _WITH_SUBCOMMANDS or (own and re.fullmatch(r"[a-z][a-z-]+", first))
    return Signature(program, first if has_subcommand else "", options)


def _names(word: str, program: str) -> bool:
    return word == program or word.endswith(f"/{program}")


def program_of(command: str) -> str:
    """The name of the first program in the command that is no mere helper."""
    programs = programs_of(command)
    words = command.split()
    for program in programs:
        if _RUNNERS.match(program):
            return _run_by(program, words)
    return next(
        (each for each in programs if each not in _HELPERS), programs[0] if programs else ""
    )


def _run_by(runner: str, words: Sequence[str]) -> str:
    """What `python -m x`, `npx x` and `uv run x` run; the runner itself where that is not said."""
    at = next((place for place, word in enumerate(words) if word.endswith(runner)), 0)
    rest = [word for word in words[at + 1 :] if word not in ("run", "exec", "-y", "--yes")]
    if rest[:1] == ["-m"] and len(rest) > 1:
        return rest[1]
    if runner in ("npx", "uvx", "uv") and rest and not rest[0].startswith("-"):
        return _run_by(rest[0], rest) if _RUNNERS.match(rest[0]) else posixpath.basename(rest[0])
    return runner


def own_program(shape: CommandShape) -> str:
    """The skill's own program that a command runs; empty where it runs none."""
    return next((path for path in shape.skill_files if is_program(path)), "")


def _command_item(
    command: DocumentedCommand, reader: ShapeReader, files: Collection[str]
) -> DocumentedItem:
    shape = reader.shape_of(command.command)
    own = own_program(shape)
    return DocumentedItem(
        kind="command",
        what=" ".join(command.command.split()),
        line=command.line,
        program=own or program_of(command.command),
        optional=_OPTIONAL.search(f"{command.heading}\n{command.lead}") is not None,
        not_run=_why_not(command, shape, brings=files),
        shape=shape,
        command=command,
    )


def _why_not(command: DocumentedCommand, shape: CommandShape, *, brings: Collection[str]) -> str:
    if command.is_bad_example:
        return "it shows what not to do"
    if shape.is_setup:
        return "it installs what the work needs"
    if shape.purpose in _NOT_RUN:
        return _NOT_RUN[shape.purpose]
    if shape.secret:
        return f"it needs a key that only its user has: {shape.secret}"
    if _OF_A_PROJECT.match(command.command) and "package.json" not in brings:
        return "it works on a project of its user's"
    foreign = _PROGRAM_FILE.match(command.command)
    if foreign and not own_program(shape):
        return f"it runs {foreign[1]}, which the skill does not bring along"
    if len(command.command) > MOST_COMMAND:
        return "it is too long to be tried"
    if re.search(r"(?:^|\s)(?:\.\.\.|…)(?:\s|$)", command.command):
        return "it leaves things out"
    return ""


def _code_item(code: CodeBlock) -> DocumentedItem:
    return DocumentedItem(
        kind="code",
        what=code.first,
        line=code.line,
        program=f"{code.language} code",
        optional=_OPTIONAL.search(f"{code.heading}\n{code.lead}") is not None,
        not_run=code.not_run,
        code=code,
    )


def is_system_install(item: DocumentedItem) -> bool:
    """Whether it installs system packages, for which a sandbox gives no rights."""
    return item.command is not None and _SYSTEM_INSTALL.search(item.command.command) is not None
