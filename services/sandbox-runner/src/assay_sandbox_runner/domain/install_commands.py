"""Which commands change what is installed, for all tasks of a run at once. Pure."""

import re
from typing import Final

_INSTALLER: Final = re.compile(
    r"(?:^|[\s;&|(/'\"])"
    r"(?:pip[\d.]*|uv|pipx|poetry|npm|pnpm|yarn|apt|apt-get|apk|dnf|conda|mamba|cargo|gem|go|brew)"
    r"\s+(?:-\S+\s+)*(?:pip\s+|global\s+|tool\s+)?"
    r"(?:install|i|add|ci|sync|update|upgrade|uninstall|remove|rm|get)\b"
)
_REMOVAL: Final = re.compile(r"\b(?:uninstall|remove|rm)\b")
_PLAIN: Final = re.compile(
    r"(?:python[\d.]*\s+-m\s+)?pip[\d.]*\s+install|npm\s+(?:install|i)\s+(?:-g|--global)\b"
)
_WORD: Final = re.compile(
    r"-{1,2}[A-Za-z][\w-]*(?:=/[\w./@+-]+)?"  # an option, its value absolute if there is one
    r"|/[\w./@+-]+"  # an absolute path
    r"|@?[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?(?:\[[\w,]+\])?(?:(?:[=<>!~]=|[<>@])[\w.*,=<>!~]+)?"
)
_FILE_LIKE: Final = re.compile(r"(?<!\d)\.(?:txt|whl|zip|tgz|toml|json|cfg|gz)$|^[\w.-]+/$")
_TAKES_PATH: Final = frozenset(
    {"-r", "--requirement", "-c", "--constraint", "-f", "--find-links", "-e", "--editable"}
)


def changes_packages(command: str) -> bool:
    """Whether the command installs, upgrades or removes packages, as far as its text shows."""
    return _INSTALLER.search(command) is not None


def removes_packages(command: str) -> bool:
    return changes_packages(command) and _REMOVAL.search(command) is not None


def does_the_same_in_every_folder(command: str) -> bool:
    """Whether an installing command does the same in whichever folder it is started.

    True only for one plain `pip install` or `npm install -g` of named packages and absolute paths.
    """
    plain = _PLAIN.match(command.strip())
    if plain is None:
        return False
    words = command.strip()[plain.end() :].split()
    previous = ""
    for word in words:
        quoted = word.strip("'\"")
        if not _WORD.fullmatch(quoted):
            return False
        is_path = previous in _TAKES_PATH or _FILE_LIKE.search(quoted)
        if is_path and not quoted.startswith(("/", "-")):
            return False
        previous = quoted
    return bool(words)
