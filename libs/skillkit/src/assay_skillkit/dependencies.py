"""What a skill says it needs, as written."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from assay_contracts.skills import Dependencies, Finding
from assay_skillkit.dependency_sources import (
    from_inline_script,
    from_pyproject,
    is_pip_package,
    shown_in_markdown,
)
from assay_skillkit.file_names import SKILL_MD
from assay_skillkit.json_size import first_within
from assay_skillkit.limits import LIMITS, Limits
from assay_skillkit.rules import skill as rules
from assay_skillkit.show import shown
from assay_skillkit.skill_md.plain_yaml import Value
from assay_skillkit.tree import Tree, read_start

REQUIREMENTS: Final = "requirements.txt"
PACKAGE_JSON: Final = "package.json"
PYPROJECT: Final = "pyproject.toml"
MAX_EACH: Final = 500
MAX_LENGTH: Final = 300
MAX_BYTES: Final = 32 * 1024
"""Of all dependencies of one kind together."""
MAX_OPTIONS: Final = 20
MAX_SHOWN: Final = 50

_IMPORT: Final = re.compile(r"^(?:from\s+(\w+)[\w.]*\s+import\b|import\s+(\w+))", re.MULTILINE)
_INLINE: Final = re.compile(r"^# /// script\s*$", re.MULTILINE)
_COMMENT: Final = re.compile(r"(^|\s)#.*$")
_PIP_KEYS: Final = frozenset({"pip", "python", "pypi"})
_NPM_KEYS: Final = frozenset({"npm", "node"})
_OF_OTHERS: Final = re.compile(
    r"(?:^|/)(?:assets|templates?|examples?|samples?|tests?|fixtures|node_modules)/"
)
_RUN_BY_ITSELF: Final = ("preinstall", "install", "postinstall", "prepare")


@dataclass(slots=True)
class _Declared:
    pip: list[str] = field(default_factory=list)
    npm: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    shown_pip: list[str] = field(default_factory=list)
    shown_npm: list[str] = field(default_factory=list)
    declared_in: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add_pip(self, items: Iterable[str], path: str) -> None:
        """Packages for pip that the file of that path declares; what is none is kept as other."""
        for item in items:
            (self.pip if is_pip_package(item) else self.other).append(item)
            self.declared_in.setdefault(item[:MAX_LENGTH], path)

    def add_npm(self, items: Iterable[str], path: str) -> None:
        for item in items:
            self.npm.append(item)
            self.declared_in.setdefault(item[:MAX_LENGTH], path)

    def add_shown(self, ecosystem: str, item: str, path: str) -> None:
        """What a document shows how to install; nothing new where it is declared."""
        declared, shown_here = (
            (self.npm, self.shown_npm) if ecosystem == "npm" else (self.pip, self.shown_pip)
        )
        if _name(item) not in map(_name, declared):
            shown_here.append(item)
            self.declared_in.setdefault(item[:MAX_LENGTH], path)

    def result(self) -> tuple[Dependencies, list[Finding]]:
        kept = [
            _kept(items)
            for items in (self.pip, self.npm, self.other, self.shown_pip, self.shown_npm)
        ]
        pip, npm, other, shown_pip, shown_npm = kept
        listed = {item for items in kept for item in items}
        dependencies = Dependencies(
            pip=pip,
            npm=npm,
            other=other,
            shown_pip=shown_pip[:MAX_SHOWN],
            shown_npm=shown_npm[:MAX_SHOWN],
            declared_in={item: path for item, path in self.declared_in.items() if item in listed},
        )
        return dependencies, self.findings


def _name(item: str) -> str:
    return re.split(r"[\s\[=~!<>;@]", item.lstrip("@"), maxsplit=1)[0].lower().replace("_", "-")


def _kept(items: list[str]) -> tuple[str, ...]:
    each_once = dict.fromkeys(item[:MAX_LENGTH] for item in items)
    return tuple(first_within(each_once, MAX_BYTES))[:MAX_EACH]


def declared_dependencies(
    tree: Tree, frontmatter: Value | None, line: int | None, limits: Limits = LIMITS
) -> tuple[Dependencies, list[Finding]]:
    """What the skill says it needs, wherever it says so.

    In this order: every `requirements.txt` and `pyproject.toml`, `package.json`, the frontmatter,
    the comments of scripts (PEP 723); then what documents show how to install. Files of examples,
    templates and tests speak for themselves alone.
    """
    declared = _Declared()
    own = [path for path in sorted(tree.sizes, key=_outermost_first) if not _OF_OTHERS.search(path)]
    for name, read in _READERS.items():
        for path in own:
            if path.rpartition("/")[2] == name:
                read(tree, path, declared, limits)
    if frontmatter:
        _from_frontmatter(frontmatter, line, declared)
    _from_texts(tree, own, declared, limits)
    if not declared.pip and not any(path.endswith(REQUIREMENTS) for path in own):
        declared.findings.extend(_undeclared_imports(tree, limits))
    return declared.result()


def _outermost_first(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _from_texts(tree: Tree, paths: Sequence[str], declared: _Declared, limits: Limits) -> None:
    """What scripts declare in comments, and documents show how to install."""
    budget = limits.documents
    texts = [path for path in paths if path.endswith((".py", ".md"))]
    for path in sorted(texts, key=lambda path: path.endswith(".md")):
        budget -= tree.sizes[path]
        if budget < 0:
            break
        text = _text(tree, path, limits)
        if text is None:
            continue
        if path.endswith(".py"):
            declared.add_pip(from_inline_script(text), path)
            continue
        for ecosystem, item in shown_in_markdown(text):
            declared.add_shown(ecosystem, item, path)


def _text(tree: Tree, path: str, limits: Limits) -> str | None:
    if tree.sizes[path] > limits.small_file:
        return None
    try:
        text = read_start(tree, path, limits.small_file).decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _from_requirements(tree: Tree, path: str, declared: _Declared, limits: Limits) -> None:
    text = _text(tree, path, limits)
    if text is None:
        declared.findings.append(
            rules.REQUIREMENTS_UNREADABLE.at(
                "requirements.txt is no UTF-8 text of a sensible size.", path
            )
        )
        return
    options: list[Finding] = []
    for number, row in _joined_rows(text):
        item = _COMMENT.sub("", row).strip()
        if not item.startswith("-"):
            declared.add_pip([item] if item else [], path)
        elif len(options) < MAX_OPTIONS:
            message = f"`{shown(item)}` is an option for pip, not a package."
            options.append(rules.REQUIREMENTS_OPTION.at(message, path, number))
    declared.findings.extend(options)


def _joined_rows(text: str) -> Iterator[tuple[int, str]]:
    held: list[str] = []
    starts_at = 1
    for number, row in enumerate(text.splitlines(), start=1):
        if not held:
            starts_at = number
        if row.endswith("\\") and not row.lstrip().startswith("#"):
            held.append(row[:-1])
            continue
        yield starts_at, "".join([*held, row])
        held = []
    if held:
        yield starts_at, "".join(held)


def _from_package_json(tree: Tree, path: str, declared: _Declared, limits: Limits) -> None:
    invalid = rules.PACKAGE_JSON_INVALID.at(
        "package.json is no JSON object that npm would read.", path
    )
    text = _text(tree, path, limits)
    try:
        data: object = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        declared.findings.append(invalid)
        return
    packages = data.get("dependencies", {})
    if not isinstance(packages, dict) or not all(isinstance(v, str) for v in packages.values()):
        declared.findings.append(invalid)
    else:
        wanted_ones = (_clean(f"{name}@{wanted}") for name, wanted in packages.items())
        declared.add_npm(wanted_ones, path)
    scripts = data.get("scripts")
    if isinstance(scripts, dict) and (names := [s for s in _RUN_BY_ITSELF if s in scripts]):
        declared.findings.append(
            rules.PACKAGE_JSON_SCRIPT.at(
                f"package.json runs `{names[0]}` by itself when packages are installed.",
                path,
            )
        )


def _clean(text: str) -> str:
    """`text` without what cannot be stored or sent, such as half a surrogate pair from JSON."""
    return "".join(c for c in text if c.isprintable())


def _from_pyproject(tree: Tree, path: str, declared: _Declared, limits: Limits) -> None:
    text = _text(tree, path, limits)
    if text is not None:
        declared.add_pip(from_pyproject(text), path)


_READERS: Final = {
    REQUIREMENTS: _from_requirements,
    PYPROJECT: _from_pyproject,
    PACKAGE_JSON: _from_package_json,
}


def _from_frontmatter(value: Value, line: int | None, declared: _Declared) -> None:
    unclear = rules.DEPENDENCIES_UNCLEAR.at(
        "The frontmatter's `dependencies` cannot be made out.", "SKILL.md", line
    )
    if isinstance(value, dict):
        for key, inner in value.items():
            items = _items(inner)
            if items is None:
                declared.findings.append(unclear)
            elif key.lower() in _PIP_KEYS:
                declared.add_pip(items, SKILL_MD)
            elif key.lower() in _NPM_KEYS:
                declared.add_npm(items, SKILL_MD)
            else:
                declared.other.extend(f"{key}:{item}" for item in items)
        return
    items = _items(value)
    if items is None:
        declared.findings.append(unclear)
    else:
        declared.add_pip(items, SKILL_MD)


def _items(value: Value) -> list[str] | None:
    if isinstance(value, str):
        return [item for item in re.split(r",\s+|\s*\n\s*", value.strip()) if item]
    if not isinstance(value, list):
        return None
    texts = [item for item in value if isinstance(item, str)]
    return [text.strip() for text in texts if text.strip()] if len(texts) == len(value) else None


def _undeclared_imports(tree: Tree, limits: Limits) -> Iterator[Finding]:
    own = {part.removesuffix(".py") for path in tree.sizes for part in path.split("/")}
    missing: dict[str, str] = {}
    budget = limits.source
    for path in sorted(path for path in tree.sizes if path.endswith(".py")):
        budget -= tree.sizes[path]
        if budget < 0:
            break
        text = _text(tree, path, limits)
        if text is None or _INLINE.search(text):
            continue
        for match in _IMPORT.finditer(text):
            module = match[1] or match[2]
            if module not in sys.stdlib_module_names and module not in own and module.isascii():
                missing.setdefault(module, path)
    if missing:
        names = ", ".join(f"`{shown(name)}`" for name in sorted(missing)[:5])
        yield rules.REQUIREMENTS_MISSING.at(
            f"The skill's Python imports {names}, but no requirements.txt declares them.",
            next(iter(missing.values())),
        )
