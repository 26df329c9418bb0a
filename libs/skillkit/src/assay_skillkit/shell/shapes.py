"""The shape of a documented command: which words are inputs, outputs, the skill's own files. Pure.

A document shows `python scripts/report.py data.csv --out report.html`; an agent runs it as
`python /workspace/skills/x/scripts/report.py sales.csv --out june.html`. A shape knows which words
to exchange.
"""

import posixpath
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from assay_skillkit.file_names import FILE_NAME, extension, is_text_file
from assay_skillkit.shell.lexer import Fragment, fragments
from assay_skillkit.shell.purpose import Purpose, purpose

WordKind = Literal["literal", "input", "output", "skill", "value", "text"]
"""`text`: a quoted piece or a here-document in which paths of the skill stand."""

_ROOT_NAMES: Final = re.compile(
    r"^(?:\{\{?\s*(?:base_?dir|skill_?(?:dir|root|path))\s*\}?\}"
    r"|\$\{?(?:CLAUDE_)?(?:SKILL_?(?:DIR|ROOT|PATH)|BASE_?DIR)\}?"
    r"|<(?:path[ -]to[ -])?skill[ _-]?(?:dir|directory|folder|root|path)?>"
    r"|/?path/to/(?:the/|this/)?skill)(?=/|$)",
    re.IGNORECASE,
)
_OUTPUT_FLAG: Final = re.compile(
    r"^--?(?:o|out|outfile|outdir|output|dest|destination|save|save-to|target|export|write|report"
    r"|(?:out|output)[-_](?:file|path|dir|directory|folder|name))$"
)
_OUTPUT_NAME: Final = re.compile(
    r"out|result|report|summary|dest|target|convert|clean|final|chart|plot|render", re.IGNORECASE
)
_MAKER: Final = re.compile(r"(?:make|create|generate|init|new|write)[_-]", re.IGNORECASE)
"""Begins the name of a program whose first file is what it makes."""
_PRODUCTS: Final = frozenset({"html", "htm", "md"})
"""Kinds of text files that a command with another kind of input usually makes."""
_FIXED_NAME: Final = re.compile(r"template|style|theme|config|schema|base|header", re.IGNORECASE)
_FOLDER: Final = re.compile(r"^(?:\./)?(?!\.)[\w-]+(?:/[\w.-]+)*/$")
_FOLDER_FLAG: Final = re.compile(r"^--?(?:[\w-]*(?:dir|directory|folder))$")
_ELSEWHERE: Final = re.compile(
    r"^(?:~|\$HOME|\$\{HOME\}|/(?!dev/|tmp/|etc/|usr/|var/|proc/|bin/))[\w./-]*/"
)
_MADE_UP_PATH: Final = re.compile(r"^/?(?:path/to|your|my|some)/(?:[\w.-]+/)*", re.IGNORECASE)
_SECRET: Final = re.compile(
    r"(?:\bYOUR|<[^<>]*|\byour)[\w -]*(?:KEY|TOKEN|SECRET|PASSWORD)|\bsk-(?:\.\.\.|x{3,})",
    re.IGNORECASE,
)
_ROOT_MARK: Final = "\0"
"""Stands for the skill's folder in a piece of text until it is known where that lies."""
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
    """For inputs and outputs the file name as documented; for skill files the path in the skill;
    for text the piece with a mark for each path of the skill."""


@dataclass(frozen=True, slots=True)
class CommandShape:
    words: tuple[Word, ...]
    purpose: Purpose

    @property
    def is_setup(self) -> bool:
        """Installs something the work needs."""
        return self.purpose == "setup"

    @property
    def is_work(self) -> bool:
        """Does something whose result can be looked at."""
        return self.purpose == "work"

    @property
    def values(self) -> tuple[str, ...]:
        """Places to fill in for which a value has to be made up."""
        return tuple(dict.fromkeys(word.name for word in self.words if word.kind == "value"))

    @property
    def secret(self) -> str:
        """The place to fill in that stands for a key or a password; empty where there is none."""
        found = (_SECRET.search(word.text) for word in self.words)
        return next((match.group().strip("<>\"' ") for match in found if match), "")

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


class ShapeReader:
    """Tells the words of commands apart, for all commands of one skill."""

    def __init__(
        self, *, skill_name: str, skill_files: Collection[str], samples: Collection[str] = ()
    ) -> None:
        """Look the skill's files over once.

        Args:
            skill_name: Name of the skill's folder.
            skill_files: Paths in the skill, relative to its folder.
            samples: File names whose content the document shows: those are inputs wherever they
                stand.
        """
        self._own = _OwnFiles(skill_name, skill_files)
        self._samples = frozenset(samples)

    def shape_of(self, command: str) -> CommandShape:
        """The shape of a command as documented."""
        reader = _Reader(self._own, self._samples)
        pieces = _joined(fragments(command, notation="\n" not in command))
        words = [word for piece in pieces for word in reader.read(piece)]
        return CommandShape(words=tuple(words), purpose=purpose(command))


def _joined(pieces: Iterable[Fragment]) -> Iterator[Fragment]:
    """`<name>` and the ending right behind it are one word: `<your-file>.csv`."""
    held: Fragment | None = None
    for piece in pieces:
        if held and piece.kind == "bare" and re.fullmatch(r"\.\w{1,5}", piece.text):
            yield Fragment("placeholder", f"{held.text[:-1]}{piece.text}>")
            held = None
            continue
        if held:
            yield held
        held = piece if piece.kind == "placeholder" else None
        if held is None:
            yield piece
    if held:
        yield held


class _OwnFiles:
    """What the skill brings along, and how documents name it."""

    def __init__(self, skill_name: str, skill_files: Collection[str]) -> None:
        self.paths = frozenset(skill_files)
        self._skill_name = skill_name
        folders = {path.rpartition("/")[0] for path in skill_files if "/" in path}
        self._folders = frozenset(
            "/".join(folder.split("/")[:depth])
            for folder in folders
            for depth in range(1, folder.count("/") + 2)
        )
        tops = sorted({*SKILL_FOLDERS, *(folder.split("/")[0] for folder in folders)})
        names = "|".join(map(re.escape, tops))
        self._path_in_text = re.compile(rf"(?<![\w/.~-])(?:\./)?((?:{names})/[\w./-]*\w)")
        with_name: dict[str, list[str]] = {}
        for path in skill_files:
            with_name.setdefault(posixpath.basename(path), []).append(path)
        self._by_name = {name: found[0] for name, found in with_name.items() if len(found) == 1}

    def text(self, piece: str) -> Word:
        """A piece that is no single word: paths of the skill are found in it wherever they are."""
        marked = self._path_in_text.sub(self._marked, piece)
        return Word(piece, "text", marked) if marked != piece else Word(piece)

    def _marked(self, match: re.Match[str]) -> str:
        path = match[1]
        known = path in self.paths or path in self._folders
        return f"{_ROOT_MARK}/{path}" if known else match[0]

    def path_of(self, path: str) -> str | None:
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
        if path.rstrip("/") in self._folders:
            return path.rstrip("/")
        local = posixpath.normpath(path.removeprefix("./").removeprefix(f"{self._skill_name}/"))
        if local in self.paths:
            return local
        if is_program(local) and local in self._by_name:
            return self._by_name[local]
        return local if local.split("/")[0] in SKILL_FOLDERS and "/" in local else None


class _Reader:
    """Reads a command from left to right, remembering what the next file is for."""

    def __init__(self, own: _OwnFiles, samples: Collection[str]) -> None:
        self._own = own
        self._samples = samples
        self._next: WordKind | None = None
        self._inputs: list[str] = []
        self._last = ""
        self._program = ""
        """The skill's program that the words behind it are for."""

    def read(self, fragment: Fragment) -> Sequence[Word]:
        piece = fragment.text
        if fragment.kind == "optional" or piece == "...":
            return ()
        if fragment.kind in ("operator", "newline"):
            self._operator(piece)
        if fragment.kind == "here_body" or "\n" in piece:
            return (self._own.text(piece),)
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
        if re.search(r"[|;\n]|&&", piece):
            self._inputs, self._program = [], ""

    def _classify(self, piece: str) -> Word:
        before, self._last = self._last, piece
        if piece.startswith("-") and not piece.startswith("./"):
            self._next = "output" if _OUTPUT_FLAG.match(piece) else None
            return Word(piece)
        expected, self._next = self._next, None
        bare = piece.strip("\"'")
        if expected == "literal":
            return Word(piece)
        own = self._own.path_of(bare)
        if own is not None and not (expected == "output" and own not in self._own.paths):
            self._program = self._program or (own if is_program(own) else "")
            return Word(piece, "skill", own)
        if expected == "output" and re.fullmatch(r"[\w-][\w./-]*\.\w{1,8}", bare):
            return Word(piece, "output", bare)
        name = self._name_of_file(bare, before)
        if name is None:
            return self._own.text(piece) if piece != bare else Word(piece)
        if not name:
            return Word(piece, "value", bare)
        if name != bare and name.startswith("output"):
            return Word(piece, "output", name)
        if self._inputs and before.lstrip("-") == extension(name):
            expected = "output"
        return self._file(piece, name.removeprefix("./"), expected)

    def _name_of_file(self, bare: str, before: str) -> str | None:
        """What a file or folder is called here; empty for a value; None if it is neither."""
        local = _MADE_UP_PATH.sub("", bare) if _MADE_UP_PATH.match(bare) else bare
        if _ELSEWHERE.match(local):
            local = posixpath.basename(local.rstrip("/")) + ("/" if local.endswith("/") else "")
        if FILE_NAME.fullmatch(local) or (_FOLDER.match(local) and not local.startswith("/")):
            return local
        if _FOLDER_FLAG.match(before) and re.fullmatch(r"[A-Za-z][\w-]*", local):
            return f"{local}/"
        if _MADE_UP_PATH.match(bare) and re.fullmatch(r"[\w.-]+", local):
            return f"{local}/" if "." not in local else local
        return _named_by_placeholder(bare)

    def _file(self, piece: str, name: str, expected: WordKind | None) -> Word:
        if expected == "output" or self._is_product(name):
            return Word(piece, "output", name)
        self._inputs.append(name)
        return Word(piece, "input", name)

    def _is_product(self, name: str) -> bool:
        """Whether a file named without a flag, behind an input, is what the command makes."""
        if name in self._samples:
            return False
        if not self._inputs:
            return _MAKER.match(posixpath.basename(self._program)) is not None
        stem = posixpath.splitext(posixpath.basename(name))[0]
        kind = extension(name)
        is_new = all(extension(given) != kind for given in self._inputs)
        same_stem = any(posixpath.splitext(posixpath.basename(g))[0] == stem for g in self._inputs)
        if _OUTPUT_NAME.search(stem) or (is_new and (same_stem or not is_text_file(name))):
            return True
        return kind in _PRODUCTS and is_new and not _FIXED_NAME.search(stem)


def is_program(path: str) -> bool:
    """Whether a file of this name is code that an interpreter runs."""
    return posixpath.splitext(path)[1] in _CODE


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
    # A variable is for its user to set: what is not a file is left as it is.
    return None if text.startswith("$") else ""


_CODE: Final = frozenset(
    {".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash", ".rb", ".pl", ".php", ".r", ".R"}
)
_KNOWN_KINDS: Final = {
    "csv": "csv", "tsv": "tsv", "json": "json", "jsonl": "jsonl", "yaml": "yaml", "yml": "yml",
    "xml": "xml", "html": "html", "markdown": "md", "md": "md", "txt": "txt", "log": "log",
    "sql": "sql", "toml": "toml", "pdf": "pdf", "png": "png", "xlsx": "xlsx", "docx": "docx",
}  # fmt: skip


def _render(word: Word, names: Mapping[str, str], skill_root: str) -> str:
    if word.kind == "skill":
        return shlex.quote(posixpath.join(skill_root, word.name) if word.name else skill_root)
    if word.kind == "text":
        return word.name.replace(_ROOT_MARK, skill_root)
    if word.kind in {"input", "output"}:
        return shlex.quote(names.get(word.name, word.name))
    if word.kind == "value":
        return shlex.quote(names.get(word.name) or _value_for(word.name))
    return word.text


def _value_for(placeholder: str) -> str:
    kinds = set(re.findall(r"[a-z]+", placeholder.lower()))
    if "url" in kinds:
        return "https://example.com"
    if "date" in kinds or "day" in kinds:
        return "2025-01-15"
    return "3" if kinds & _NUMBERS else "example"
