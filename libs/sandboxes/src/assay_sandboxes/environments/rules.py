"""What may be in a sealed environment. Pure.

Every path is below the home folder. What is refused here never reaches a later run, whoever
brought it: it would change what commands mean, or run by itself.
"""

import re
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Final

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

_KNOWN_HOOKS: Final = frozenset({("setuptools", "distutils-precedence.pth")})
"""Start-up hooks that only packages of that name bring, from the index, and that do no harm."""
LONGEST_HOOK: Final = 64 * 1024
"""A `.pth` file is looked at whole, and refused if it is longer."""
_CUSTOMIZE: Final = ("sitecustomize", "usercustomize")
_CONFIGURATION: Final = ("jupyter",)
"""Below `.local/etc`, whose other files tell package managers what to do."""
_NPM_NAME: Final = re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*")
_NPM_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_NPM_PLACE: Final = re.compile(rf"{_NPM_NAME.pattern}(?:/node_modules/{_NPM_NAME.pattern}){{0,20}}")
_OUTSIDE: Final = "it would lie outside the places of packages"
_LONGEST_NAME: Final = 200

_TEXTS: Final = (".csv", ".tsv", ".txt", ".md", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".pdf")
_TABLES: Final = (".parquet", ".arrow", ".feather", ".db", ".sqlite", ".geojson", ".dat")
_MODELS: Final = (".npy", ".npz", ".safetensors", ".onnx", ".gguf", ".vocab", ".traineddata")
_MEDIA: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".wav", ".mp3", ".ttf", ".otf")
_DATA_SUFFIXES: Final = frozenset({*_TEXTS, *_TABLES, *_MODELS, *_MEDIA})
"""Kinds of files that are only ever read; a pickle, say, runs."""
_DATA_HOME: Final = ".local/share/"
_PROJECT_FILES: Final = frozenset({"package.json", "package-lock.json", "requirements.txt"})


def refusal(path: str, content_start: bytes, package: str, commands: Collection[str]) -> str | None:
    """Why a file that a package brings is left out; None where it may come.

    Args:
        path: Where it would lie.
        content_start: How it begins; of a `.pth` file, all of it.
        package: The name of the package, if it comes from the index; else empty.
        commands: What the base offers by these names already.
    """
    match PurePosixPath(path).parts:
        case parts if ".." in parts:
            return _OUTSIDE
        case (".local", "bin", name):
            return f"it shadows the command {name}" if name in commands else None
        case (".local", "etc", folder, _, *_):
            return None if folder in _CONFIGURATION else "it configures other programs"
        case (".local", "lib", _, "site-packages", *below):
            return _module_refusal(below, content_start, package)
        case (".local", "lib", folder, _, *_) if not folder.startswith("python"):
            return None
        case (".local", "share" | "include", _, *_):
            return None
    return _OUTSIDE


def _module_refusal(parts: list[str], content: bytes, package: str) -> str | None:
    top = parts[0] if parts else ""
    if top.split(".", 1)[0] in _CUSTOMIZE:
        return "it would run whenever Python starts"
    if len(parts) == 1 and top.endswith(".pth"):
        if (package, top) in _KNOWN_HOOKS or _only_names_folders(content):
            return None
        return "it would run whenever Python starts"
    return None


def _only_names_folders(pth: bytes) -> bool:
    """Whether every line is the name of a folder beside it."""
    if len(pth) >= LONGEST_HOOK:
        return False
    lines = pth.decode(errors="replace").splitlines()
    for line in (line.rstrip() for line in lines):
        if not line or line.startswith("#"):
            continue
        folder = PurePosixPath(line)
        if line.startswith(("import ", "import\t")) or folder.is_absolute() or ".." in folder.parts:
            return False
    return True


def is_cached_code(path: str) -> bool:
    """Whether it is compiled code, which we make ourselves."""
    return "__pycache__" in PurePosixPath(path).parts or path.endswith(".pyc")


def may_be_fetched(ecosystem: str, name: str, version: str, place: str) -> bool:
    """Whether these are a name, a version and a place: a sandbox may say that it has anything."""
    if len(name) > _LONGEST_NAME or len(version) > _LONGEST_NAME:
        return False
    if ecosystem == "npm":
        known = _NPM_NAME.fullmatch(name) and _NPM_VERSION.fullmatch(version)
        return bool(known and _NPM_PLACE.fullmatch(place) and place.endswith(name))
    try:
        canonicalize_name(name, validate=True)
        Version(version)
    except (InvalidName, InvalidVersion):
        return False
    return True


def may_come_along(path: str) -> bool:
    """Whether a file may be a data file that its own skill's later runs see."""
    pure = PurePosixPath(path)
    below = path.removeprefix(_DATA_HOME)
    hidden = any(part.startswith(".") for part in PurePosixPath(below).parts)
    packaged = {"node_modules", "site-packages", "bin"} & set(pure.parts)
    return (
        not hidden
        and not packaged
        and pure.name not in _PROJECT_FILES
        and pure.suffix.lower() in _DATA_SUFFIXES
    )
