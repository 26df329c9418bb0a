"""Blocks of Python and JavaScript in a SKILL.md: which can be run by themselves, and on what."""

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from assay_skillkit.commands import is_bad_example
from assay_skillkit.file_names import FILE_NAME
from assay_skillkit.skill_md.markdown import FencedBlock

CodeLanguage = Literal["python", "javascript"]

MAX_BLOCKS: Final = 60
MAX_CODE: Final = 20_000
"""Characters of a block that is read as code."""

_LANGUAGES: Final[dict[str, CodeLanguage]] = {
    "python": "python",
    "py": "python",
    "python3": "python",
    "javascript": "javascript",
    "js": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "node": "javascript",
}
_PLACEHOLDER: Final = re.compile(
    r"<[A-Za-z][\w -]*>|\bYOUR[_-]\w+|\byour[_-](?:api|key|token|file|path)\w*|/path/to/|\bpath/to/"
    r"|\bsk-\w*\.\.\.|xxxx",
)
_ELLIPSIS: Final = re.compile(
    r"^\s*(?:\.\.\.|…)|//\s*\.\.\.|\{\s*\.\.\.\s*\}|#\s*\.\.\.", re.MULTILINE
)
_WRITES: Final = re.compile(
    r"\.(?:save|savefig|write\w*|to_\w+|output|export|dump)\w*\(|[\"'](?:w|wb|a|x|wt)[\"']"
)
_STRINGS: Final = re.compile(r"[\"']([^\"'\n]{1,200})[\"']")
_TOP_LEVEL_JS: Final = re.compile(r"^(?:[\w.]+\(|await\s|for\s*\(|console\.)", re.MULTILINE)
_BUILT_IN: Final = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A block of code that the document shows."""

    language: CodeLanguage
    text: str
    """With the blocks above that it goes on from."""
    first: str
    """Its own first line that says something."""
    line: int
    """Where it stands in the body, counted from 1."""
    heading: str
    lead: str
    imports: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    """Files that it names and does not write itself, as far as reading it tells."""
    outputs: tuple[str, ...] = ()
    not_run: str = ""
    """Why it is not for running by itself; empty where it is."""


def code_blocks(blocks: Iterable[FencedBlock]) -> tuple[CodeBlock, ...]:
    """The document's code in order, the first of very much."""
    session = _PythonSession()
    found: list[CodeBlock] = []
    for block in blocks:
        language = _LANGUAGES.get(block.language)
        if language is None or not block.text.strip() or len(found) >= MAX_BLOCKS:
            continue
        if language == "python":
            found.append(session.read(block))
        else:
            found.append(_javascript(block))
    return tuple(found)


class _PythonSession:
    """Blocks of one document build on each other, as cells of a notebook do."""

    def __init__(self) -> None:
        self._defined: dict[str, tuple[int, ...]] = {}
        """For each name, the blocks that have to run before it is there."""
        self._texts: list[str] = []

    def read(self, block: FencedBlock) -> CodeBlock:
        reason = _not_for_running(block)
        tree = _parsed(block.text) if not reason else None
        if tree is None:
            return _block(block, "python", block.text, reason or "it is a fragment, not a program")
        names = _Names(tree)
        unknown = sorted(names.needed - self._defined.keys() - _BUILT_IN)
        if unknown:
            reason = f"it uses `{unknown[0]}`, which nothing above it defines"
        elif not names.does_something:
            reason = "it defines things, and does nothing by itself"
        before = sorted({at for name in names.needed for at in self._defined.get(name, ())})
        if not unknown:
            place = len(self._texts)
            self._texts.append(block.text)
            for name in names.defined:
                self._defined[name] = (*before, place)
        text = "\n\n".join([*(self._texts[at] for at in before), block.text])
        if len(text) > MAX_CODE:
            reason = reason or "it is too long to be tried"
        return _block(block, "python", text, reason, names.imports)


class _Names(ast.NodeVisitor):
    """Which names a program needs from outside, and which it defines at its top level."""

    def __init__(self, tree: ast.Module) -> None:
        self.imports: tuple[str, ...] = tuple(_imports(tree))
        stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and _is_stored(n)}
        named = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        bound = {
            (alias.asname or alias.name).split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        given = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        caught = {n.name for n in ast.walk(tree) if isinstance(n, ast.ExceptHandler) and n.name}
        matched = {
            str(name)
            for node in ast.walk(tree)
            if isinstance(node, ast.MatchAs | ast.MatchStar) and (name := node.name)
        }
        self.defined = frozenset(stored | named | bound)
        used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not _is_stored(n)}
        self.needed = frozenset(used - self.defined - given - caught - matched)
        self.does_something = any(
            isinstance(node, ast.Call)
            for statement in tree.body
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            for node in ast.walk(statement)
        )


def _is_stored(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _not_for_running(block: FencedBlock) -> str:
    if is_bad_example(block):
        return "it shows what not to do"
    if len(block.text) > MAX_CODE:
        return "it is too long to be tried"
    if _PLACEHOLDER.search(block.text):
        return "it has places to fill in that only its user knows"
    if _ELLIPSIS.search(block.text):
        return "it leaves things out"
    return ""


def _javascript(block: FencedBlock) -> CodeBlock:
    reason = _not_for_running(block)
    if not reason and not _TOP_LEVEL_JS.search(block.text):
        reason = "it defines things, and does nothing by itself"
    return _block(block, "javascript", block.text, reason)


def _block(
    block: FencedBlock,
    language: CodeLanguage,
    text: str,
    not_run: str,
    imports: Sequence[str] = (),
) -> CodeBlock:
    rows = [row.strip() for row in block.lines if row.strip()]
    telling = next((row for row in rows if not row.startswith(("#", "//", '"""'))), rows[0])
    inputs, outputs = _files(text)
    return CodeBlock(
        language=language,
        text=text,
        first=telling,
        line=block.first_line,
        heading=block.heading,
        lead=block.lead,
        imports=tuple(dict.fromkeys(imports)),
        inputs=inputs,
        outputs=outputs,
        not_run=not_run,
    )


def _files(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files that the strings of a program name: those it reads, and those it writes."""
    given: dict[str, None] = {}
    made: dict[str, None] = {}
    for row in text.splitlines():
        for literal in _STRINGS.findall(row):
            if FILE_NAME.fullmatch(literal):
                target = made if _WRITES.search(row) and literal not in given else given
                target.setdefault(literal)
    return tuple(name for name in given if name not in made), tuple(made)
