"""Where a skill's files say which packages they need, beside `requirements.txt` and frontmatter."""

import re
import sys
import tomllib
from collections.abc import Iterator
from typing import Final

from assay_skillkit.skill_md.markdown import read_markdown

_INLINE_SCRIPT: Final = re.compile(
    r"^# /// script[ \t]*\n((?:#(?: .*)?\n)*?)# ///[ \t]*$", re.MULTILINE
)
_INSTALL: Final = re.compile(
    r"(?:^|[\s!$>(])(?P<manager>(?:python[\d.]*\s+-m\s+)?pip[\d.]*\s+install|uv\s+pip\s+install"
    r"|uv\s+add|npm\s+(?:install|i|add)|pnpm\s+add|yarn\s+add)\s+(?P<rest>[^\n;&|#`]+)"
)
_CODE_SPAN: Final = re.compile(r"`([^`\n]+)`")
_PIP_NAME: Final = re.compile(
    r"[A-Za-z0-9][\w.-]*(?:\[[\w, .-]+\])?(?:\s*(?:[=~!<>]=|[<>])\s*[\w.*+!-]+"
    r"(?:\s*,\s*(?:[=~!<>]=|[<>])\s*[\w.*+!-]+)*)?(?:\s*;.*)?"
)
_NPM_NAME: Final = re.compile(r"(?:@[a-z0-9~-][\w.~-]*/)?[a-z0-9~-][\w.~-]*(?:@[\w.^~<>=*| -]+)?")
_FILE_LIKE: Final = re.compile(r"\.(?:txt|whl|zip|tgz|toml|json|cfg|gz|py|js)$|^\.|/$")
_TAKES_VALUE: Final = frozenset(
    {"-r", "-c", "-e", "-f", "-i", "-t", "--requirement", "--constraint", "--editable"}
    | {"--index-url", "--extra-index-url", "--find-links", "--target", "--prefix", "--python"}
)
_PLACEHOLDERS: Final = re.compile(
    r"(?:your|my|some|the|example)[-_]|^(?:packages?|package[-_]?names?|names?|librar(?:y|ies)"
    r"|modules?|dependenc(?:y|ies)|foo|bar)$",
    re.IGNORECASE,
)
_NO_PACKAGES: Final = frozenset(
    {"python", "python3", "pip", "pip3", "node", "nodejs", "node.js", "npm", "npx", "uv", "uvx"}
    | {"bash", "sh", "git", "docker", "java", "go", "rust", "ruby", "make", "curl", "none", "null"}
)
"""What people list among their dependencies and an index does not have, or has as another thing."""


def is_pip_package(item: str) -> bool:
    """Whether an item of a list names a package of pip, as far as its text shows."""
    if "://" in item:
        return " @ " in item or item.startswith("git+")
    name = re.split(r"[\s\[=~!<>;@]", item, maxsplit=1)[0].lower()
    if name in _NO_PACKAGES or name.replace("-", "_") in sys.stdlib_module_names:
        return False
    return _PIP_NAME.fullmatch(item.strip()) is not None and not _PLACEHOLDERS.search(name)


def is_npm_package(item: str) -> bool:
    """As `is_pip_package`, for npm."""
    name = item.lstrip("@").split("@")[0].lower()
    if name in _NO_PACKAGES or _PLACEHOLDERS.search(name):
        return False
    return _NPM_NAME.fullmatch(item.strip()) is not None


def from_pyproject(text: str) -> Iterator[str]:
    """What `[project]` of a pyproject.toml needs; nothing where it cannot be read."""
    try:
        project = tomllib.loads(text).get("project")
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    if isinstance(project, dict):
        yield from _texts(project.get("dependencies"))


def from_inline_script(text: str) -> Iterator[str]:
    """What a Python script declares in a comment of its own (PEP 723)."""
    found = _INLINE_SCRIPT.search(text)
    if found is None:
        return
    lines = (line[2:] if line.startswith("# ") else line[1:] for line in found[1].splitlines())
    try:
        metadata = tomllib.loads("\n".join(lines))
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    yield from _texts(metadata.get("dependencies"))


def _texts(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def shown_in_markdown(text: str) -> Iterator[tuple[str, str]]:
    """The packages that code in a document installs: `pip` or `npm`, and the package."""
    document = read_markdown(text)
    code = [*(line for block in document.blocks for line in block.lines)]
    code += [span for _, line in document.prose for span in _CODE_SPAN.findall(line)]
    for line in code:
        for found in _INSTALL.finditer(line):
            ecosystem = "npm" if found["manager"].startswith(("npm", "pnpm", "yarn")) else "pip"
            for name in _packages(found["rest"], ecosystem):
                yield ecosystem, name


def _packages(rest: str, ecosystem: str) -> Iterator[str]:
    is_package = is_npm_package if ecosystem == "npm" else is_pip_package
    previous = ""
    for word in rest.split():
        name = word.strip("'\"")
        taken, previous = previous in _TAKES_VALUE, name
        if taken or name.startswith("-"):
            continue
        if not is_package(name) or _FILE_LIKE.search(name):
            return
        yield name
