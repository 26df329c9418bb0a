"""The shape of a documented command: which words are inputs, outputs, the skill's own files. Pure.

A document shows `python scripts/report.py data.csv --out report.html`; an agent runs it as
`python /workspace/skills/x/scripts/report.py sales.csv --out june.html`. A shape knows which words
to exchange.
"""

import posixpath
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from assay_skillkit.file_names import FILE_NAME, extension, is_text_file
from assay_skillkit.shell.lexer import Fragment, fragments

WordKind = Literal["literal", "input", "output", "skill", "value"]

_SETUP: Final = re.compile(
    r"^(?:sudo\s+)?(?:python3?\s+-m\s+)?(?:pip3?|uv(?:\s+pip)?|npm|yarn|pnpm|apt(?:-get)?|brew|conda"
    r"|cargo|gem)\s+(?:install|add|sync|ci|i|update|upgrade)\b"
)
_NO_WORK: Final = re.compile(r"^(?:cd|export|source|chmod|which|git\s+clone|mkdir)\b|^\w+=\S*$|^#")
_ROOT_NAMES: Final = re.compile(
    r"^(?:\{\{?\s*(?:base_?dir|skill_?(?:dir|root|path))\s*\}?\}"
    r"|\$\{?(?:CLAUDE_)?(?:SKILL_?(?:DIR|ROOT|PATH)|BASE_?DIR)\}?"
    r"|<(?:path[ -]to[ -])?skill[ _-]?(?:dir|directory|folder|root|path)?>"
    r"|/?path/to/(?:the/|this/)?skill)(?=/|$)",
    re.IGNORECASE,
)
_OUTPUT_FLAG: Final = re.compile(
    r"^--?(?:o|out|outfile|output|out-?file|output[-_](?:file|path)|dest|destination|save|save-to"
    r"|target|export|write|report)$"
)
_OUTPUT_NAME: Final = re.compile(
    r"out|result|report|summary|dest|target|convert|clean|final|chart|plot|render", re.IGNORECASE
)
_PRODUCTS: Final = frozenset({"html", "htm", "md"})
"""Kinds of text files that a command with another kind of input usually makes."""
_FIXED_NAME: Final = re.compile(r"template|style|theme|config|schema|base|header", re.IGNORECASE)
SKILL_FOLDERS: Final = frozenset({"scripts", "references", "assets", "templates", "resources"})
_PLACEHOLDER: Final = re.compile(
    r"^(?:<([^<>]+)>|\{\{?\s*([A-Za-z][\w -]*)\s*\}?\}|\$\{?([A-Z][A-Z_]*)\}?|((?:[A-Z]+_)*"
    r"(?:INPUT|OUTPUT|FILE|FILENAME|PATH|URL|DIR|TEXT|QUERY|NAME|NUMBER)(?:_[A-Z]+)*))$"
)
_NUMBERS: Final = frozenset({"n", "num", "number", "count", "limit", "size", "max", "min", "top"})


@dataclass(frozen=True, slots=True)
class Word:
    """One piece of a command: a word, or the space and operators between words."""

    text: str
    kind: WordKind = "literal"
    name: str = ""
    """For inputs and outputs the file name as documented; for skill files the path in the skill."""


@dataclass(frozen=True, slots=True)
class CommandShape:
    words: tuple[Word, ...]
    is_setup: bool
    """Installs something the work needs."""
    is_work: bool
    """Does something whose result can be looked at."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word.name for word in self.words if word.kind == "input"))

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(word.name for word in self.words if word.kind == "output"))

    @property
    def skill_files(self) -> tuple[str, ...]:
        """Files of the skill that the command uses, relative to the skill's folder."""
        return tuple(dict.fromkeys(w.name for w in self.words if w.kind == "skill" and w.name))

    def render(self, names: Mapping[str, str], *, skill_root: str) -> str:
        """The command with documented names exchanged for those in `names`."""
        return "".join(_render(word, names, skill_root) for word in self.words).strip()


def shape_of(
    command: str, *, skill_name: str, skill_files: Collection[str], samples: Collection[str] = ()
) -> CommandShape:
    """Tell the words of a command apart.

    Args:
        command: As documented.
        skill_name: Name of the skill's folder.
        skill_files: Paths in the skill, relative to its folder.
        samples: File names whose content the document shows: those are inputs wherever they stand.
    """
    head, newline, rest = command.partition("\n")
    reader = _Reader(skill_name=skill_name, skill_files=skill_files, samples=samples)
    words = [word for piece in fragments(head, notation=True) for word in reader.read(piece)]
    if newline:
        words.append(Word(newline + rest))
    is_setup = bool(_SETUP.match(head))
    return CommandShape(
        words=tuple(words),
        is_setup=is_setup,
        is_work=not is_setup and not _NO_WORK.match(head),
    )


class _Reader:
    """Reads a command from left to right, remembering what the next file is for."""

    def __init__(
        self, *, skill_name: str, skill_files: Collection[str], samples: Collection[str]
    ) -> None:
        self._skill_name = skill_name
        self._skill_files = skill_files
        self._samples = samples
        self._next: WordKind | None = None
        self._inputs: list[str] = []
        self._last = ""

    def read(self, fragment: Fragment) -> Sequence[Word]:
        piece = fragment.text
        if fragment.kind == "optional" or piece == "...":
            return ()
        if fragment.kind == "operator":
            self._operator(piece)
        if fragment.kind not in ("bare", "quoted", "placeholder"):
            return (Word(piece),)
        flag, equals, value = piece.partition("=")
        if equals and re.fullmatch(r"--?[\w-]+", flag):
            self._next = "output" if _OUTPUT_FLAG.match(flag) else None
            return (Word(f"{flag}="), self._classify(value))
        return (self._classify(piece),)

    def _operator(self, piece: str) -> None:
        if piece.endswith(">"):
            # What goes to a file of its own from standard error is nobody's result.
            self._next = "literal" if self._last == "2" else "output"
        if re.search(r"[|;]|&&", piece):
            self._inputs = []

    def _classify(self, piece: str) -> Word:
        self._last = piece
        if piece.startswith("-") and not piece.startswith("./"):
            self._next = "output" if _OUTPUT_FLAG.match(piece) else None
            return Word(piece)
        expected, self._next = self._next, None
        bare = piece.strip("\"'")
        if expected == "literal":
            return Word(piece)
        own = self._own_file(bare)
        if own is not None:
            return Word(piece, "skill", own)
        name = bare if FILE_NAME.fullmatch(bare) else _named_by_placeholder(bare)
        if name is None:
            return Word(piece)
        if not name:
            return Word(piece, "value", bare)
        if name != bare and name.startswith("output"):
            return Word(piece, "output", name)
        return self._file(piece, name.removeprefix("./"), expected)

    def _file(self, piece: str, name: str, expected: WordKind | None) -> Word:
        if expected == "output" or self._is_product(name):
            return Word(piece, "output", name)
        self._inputs.append(name)
        return Word(piece, "input", name)

    def _is_product(self, name: str) -> bool:
        """Whether a file named without a flag, behind an input, is what the command makes."""
        if not self._inputs or name in self._samples:
            return False
        stem = posixpath.splitext(posixpath.basename(name))[0]
        if _OUTPUT_NAME.search(stem) or not is_text_file(name):
            return True
        kind = extension(name)
        is_new = all(extension(given) != kind for given in self._inputs)
        return kind in _PRODUCTS and is_new and not _FIXED_NAME.search(stem)

    def _own_file(self, path: str) -> str | None:
        """The path inside the skill, empty for the skill's folder itself, None if not its own."""
        rooted = _ROOT_NAMES.match(path)
        if rooted:
            return path[rooted.end() :].strip("/")
        folder = f"skills/{self._skill_name}"
        if path.rstrip("/").endswith(folder):
            return ""
        inside = f"{folder}/"
        if inside in path:
            return path.split(inside, 1)[1]
        local = posixpath.normpath(path.removeprefix("./").removeprefix(f"{self._skill_name}/"))
        if local in self._skill_files:
            return local
        return local if local.split("/")[0] in SKILL_FOLDERS and "/" in local else None


def _named_by_placeholder(text: str) -> str | None:
    """A file name for a placeholder; empty for one that stands for a value; None if it is none."""
    match = _PLACEHOLDER.match(text)
    if not match:
        return None
    inner = next(group for group in match.groups() if group).lower()
    named = FILE_NAME.search(inner)
    if named:
        return posixpath.basename(named.group())
    kinds = re.findall(r"[a-z]+", inner)
    ending = next((kind for kind in kinds if kind in _KNOWN_KINDS), None)
    if "dir" in kinds or "directory" in kinds or "folder" in kinds:
        return "output/" if "output" in kinds else "input/"
    if "output" in kinds or "out" in kinds:
        return f"output.{_KNOWN_KINDS.get(ending or '', 'txt')}"
    if ending or {"file", "input", "path", "filename"} & set(kinds):
        return f"input.{_KNOWN_KINDS.get(ending or '', 'txt')}"
    return ""


_KNOWN_KINDS: Final = {
    "csv": "csv", "tsv": "tsv", "json": "json", "jsonl": "jsonl", "yaml": "yaml", "yml": "yml",
    "xml": "xml", "html": "html", "markdown": "md", "md": "md", "txt": "txt", "log": "log",
    "sql": "sql", "toml": "toml", "pdf": "pdf", "png": "png", "xlsx": "xlsx", "docx": "docx",
}  # fmt: skip


def _render(word: Word, names: Mapping[str, str], skill_root: str) -> str:
    if word.kind == "skill":
        return shlex.quote(posixpath.join(skill_root, word.name) if word.name else skill_root)
    if word.kind in {"input", "output"}:
        return shlex.quote(names.get(word.name, word.name))
    if word.kind == "value":
        return shlex.quote(names.get(word.name) or _value_for(word.name))
    return word.text


def _value_for(placeholder: str) -> str:
    kinds = set(re.findall(r"[a-z]+", placeholder.lower()))
    if "url" in kinds:
        return "https://example.com"
    return "3" if kinds & _NUMBERS else "example"
