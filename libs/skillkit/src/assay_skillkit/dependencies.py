"""What a skill says it needs, as written."""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from assay_contracts.skills import Dependencies, Finding
from assay_skillkit.json_size import first_within
from assay_skillkit.limits import LIMITS, Limits
from assay_skillkit.rules import skill as rules
from assay_skillkit.show import shown
from assay_skillkit.skill_md.plain_yaml import Value
from assay_skillkit.tree import Tree, read_start

REQUIREMENTS: Final = "requirements.txt"
PACKAGE_JSON: Final = "package.json"
MAX_EACH: Final = 500
MAX_LENGTH: Final = 300
MAX_BYTES: Final = 32 * 1024
"""Of all dependencies of one kind together."""
MAX_OPTIONS: Final = 20

_IMPORT: Final = re.compile(r"^(?:from\s+(\w+)[\w.]*\s+import\b|import\s+(\w+))", re.MULTILINE)
_INLINE: Final = re.compile(r"^# /// script\s*$", re.MULTILINE)
_COMMENT: Final = re.compile(r"(^|\s)#.*$")
_PIP_KEYS: Final = frozenset({"pip", "python", "pypi"})
_NPM_KEYS: Final = frozenset({"npm", "node"})
_RUN_BY_ITSELF: Final = ("preinstall", "install", "postinstall", "prepare")


@dataclass(slots=True)
class _Declared:
    pip: list[str] = field(default_factory=list)
    npm: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def result(self) -> tuple[Dependencies, list[Finding]]:
        return (
            Dependencies(pip=_kept(self.pip), npm=_kept(self.npm), other=_kept(self.other)),
            self.findings,
        )


def _kept(items: list[str]) -> tuple[str, ...]:
    each_once = dict.fromkeys(item[:MAX_LENGTH] for item in items)
    return tuple(first_within(each_once, MAX_BYTES))[:MAX_EACH]


def declared_dependencies(
    tree: Tree, frontmatter: Value | None, line: int | None, limits: Limits = LIMITS
) -> tuple[Dependencies, list[Finding]]:
    """Dependencies from `requirements.txt`, `package.json` and the frontmatter, in that order."""
    declared = _Declared()
    if REQUIREMENTS in tree.sizes:
        _from_requirements(tree, declared, limits)
    if PACKAGE_JSON in tree.sizes:
        _from_package_json(tree, declared, limits)
    if frontmatter:
        _from_frontmatter(frontmatter, line, declared)
    if not declared.pip and REQUIREMENTS not in tree.sizes:
        declared.findings.extend(_undeclared_imports(tree, limits))
    return declared.result()


def _text(tree: Tree, path: str, limits: Limits) -> str | None:
    if tree.sizes[path] > limits.small_file:
        return None
    try:
        text = read_start(tree, path, limits.small_file).decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _from_requirements(tree: Tree, declared: _Declared, limits: Limits) -> None:
    text = _text(tree, REQUIREMENTS, limits)
    if text is None:
        declared.findings.append(
            rules.REQUIREMENTS_UNREADABLE.at(
                "requirements.txt is no UTF-8 text of a sensible size.", REQUIREMENTS
            )
        )
        return
    options: list[Finding] = []
    for number, row in _joined_rows(text):
        item = _COMMENT.sub("", row).strip()
        if not item.startswith("-"):
            declared.pip.extend([item] if item else [])
        elif len(options) < MAX_OPTIONS:
            message = f"`{shown(item)}` is an option for pip, not a package."
            options.append(rules.REQUIREMENTS_OPTION.at(message, REQUIREMENTS, number))
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


def _from_package_json(tree: Tree, declared: _Declared, limits: Limits) -> None:
    invalid = rules.PACKAGE_JSON_INVALID.at(
        "package.json is no JSON object that npm would read.", PACKAGE_JSON
    )
    text = _text(tree, PACKAGE_JSON, limits)
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
        declared.npm.extend(_clean(f"{name}@{wanted}") for name, wanted in packages.items())
    scripts = data.get("scripts")
    if isinstance(scripts, dict) and (names := [s for s in _RUN_BY_ITSELF if s in scripts]):
        declared.findings.append(
            rules.PACKAGE_JSON_SCRIPT.at(
                f"package.json runs `{names[0]}` by itself when packages are installed.",
                PACKAGE_JSON,
            )
        )


def _clean(text: str) -> str:
    """`text` without what cannot be stored or sent, such as half a surrogate pair from JSON."""
    return "".join(c for c in text if c.isprintable())


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
                declared.pip.extend(items)
            elif key.lower() in _NPM_KEYS:
                declared.npm.extend(items)
            else:
                declared.other.extend(f"{key}:{item}" for item in items)
        return
    items = _items(value)
    if items is None:
        declared.findings.append(unclear)
    else:
        declared.pip.extend(items)


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
