"""Names of files, as an archive or a folder spells them, made safe or refused."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from assay_contracts.skills import Finding
from assay_skillkit.limits import LIMITS, Limits
from assay_skillkit.rules import archive as rules
from assay_skillkit.show import shown

_DRIVE: Final = re.compile(r"^[A-Za-z]:")
_BIDI: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNPORTABLE: Final = re.compile(r"""[<>"|?*$`;&']|^[-\s~]""")
_RESERVED: Final = re.compile(
    r"(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(\.|$)"
)
_JUNK_FOLDERS: Final = frozenset(
    {
        *("__MACOSX", ".git", ".hg", ".svn", ".venv", "__pycache__"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache"),
    }
)
_JUNK_FILES: Final = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})


def relative_path(raw: str) -> str:
    """`raw` with `/` between its parts, no leading `./`, composed. Folders keep a final `/`."""
    path = unicodedata.normalize("NFC", raw.replace("\\", "/"))
    while path.startswith("./"):
        path = path[2:]
    return path


def is_junk(path: str) -> bool:
    """Whether an operating system or a tool left this behind, so that it is no part of a skill."""
    parts = path.rstrip("/").split("/")
    return (
        any(part in _JUNK_FOLDERS for part in parts)
        or parts[-1] in _JUNK_FILES
        or parts[-1].startswith("._")
    )


def fold(path: str) -> str:
    """Equal for two paths that some file system would take for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def is_reserved(name: str) -> bool:
    """Whether Windows takes `name` for a device, whatever follows its first dot."""
    return _RESERVED.match(name) is not None


def path_problems(raw: str, limits: Limits = LIMITS) -> Iterator[Finding]:
    """Everything wrong with one name as the archive spells it."""
    if not raw.strip("/\\"):
        yield rules.NAME_EMPTY.at("An entry has no name.", raw)
        return
    yield from _place_problems(raw)
    yield from _character_problems(raw)
    path = relative_path(raw)
    parts = path.rstrip("/").split("/")
    if len(parts) > limits.depth:
        yield rules.PATH_TOO_DEEP.at(
            f"The path is {len(parts)} levels deep; {limits.depth} is the most.", path
        )
        return
    yield from _length_problems(path, parts, limits)
    for part in parts:
        yield from _part_problems(part, path)


def _place_problems(raw: str) -> Iterator[Finding]:
    path = raw.replace("\\", "/")
    if path.startswith("/"):
        yield rules.PATH_ABSOLUTE.at("The path starts at the root of a disk or a server.", raw)
    elif _DRIVE.match(path):
        yield rules.PATH_DRIVE.at("The path starts with a drive letter.", raw)
    parts = path.strip("/").split("/")
    if any(_climbs(part) for part in parts):
        yield rules.PATH_TRAVERSAL.at("The path leads out of the folder it is unpacked into.", raw)
    elif any(part in ("", ".") for part in relative_path(raw).strip("/").split("/")):
        yield rules.PATH_NOT_NORMAL.at("The path has an empty part or a `.` inside.", raw)
    if "/" in raw and "\\" in raw:
        yield rules.PATH_MIXED_SEPARATORS.at(
            "The path mixes `/` and `\\`, which tools read in different ways.", raw
        )


def _climbs(part: str) -> bool:
    """Whether some reader takes `part` for `..`: dressed up in width, percent signs or spaces."""
    plain = unicodedata.normalize("NFKC", unquote(unquote(part)))
    return any(
        ".." in piece and not piece.strip(". \t") for piece in plain.replace("\\", "/").split("/")
    )


def _character_problems(raw: str) -> Iterator[Finding]:
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in raw):
        yield rules.PATH_CONTROL.at("The name has a control character in it.", raw)
    if _BIDI.search(raw):
        yield rules.PATH_BIDI.at(
            "The name has a character that turns the direction of text, so it shows as another.",
            raw,
        )
    if any(unicodedata.category(c) in ("Cf", "Zl", "Zp") and not _BIDI.match(c) for c in raw):
        yield rules.PATH_INVISIBLE.at("The name has a character in it that cannot be seen.", raw)


def _length_problems(path: str, parts: list[str], limits: Limits) -> Iterator[Finding]:
    if len(path) > limits.path:
        yield rules.PATH_TOO_LONG.at(
            f"The path has {len(path)} characters; {limits.path} is the most.", path
        )
    elif any(len(part.encode("utf-8", "replace")) > limits.segment_bytes for part in parts):
        yield rules.PATH_TOO_LONG.at(
            f"A name in the path is longer than {limits.segment_bytes} bytes.", path
        )


def _part_problems(part: str, path: str) -> Iterator[Finding]:
    if is_reserved(part):
        yield rules.PATH_RESERVED.at(f"`{shown(part)}` is the name of a device on Windows.", path)
    if part != part.rstrip(". ") and part.strip(". "):
        yield rules.PATH_TRAILING.at(
            "A name ends in a dot or a space, which Windows drops, so it may stand for another.",
            path,
        )
    if ":" in part and not _DRIVE.match(path):
        yield rules.PATH_STREAM.at(
            "A name has a colon in it, which Windows reads as a stream.", path
        )
    if _UNPORTABLE.search(part):
        yield rules.PATH_NOT_PORTABLE.at(
            "A name has a character that Windows forbids or a shell takes for its own.", path
        )


def clashing_paths(names: Iterable[str]) -> Iterator[Finding]:
    """Names, as spelled, that would land on one another when unpacked. Folders end in `/`."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    spellings: dict[str, str] = {}
    for raw in names:
        path = relative_path(raw)
        if path in spellings:
            same = spellings[path] == raw
            yield (
                rules.PATH_DUPLICATE.at("The archive holds this name twice.", raw)
                if same
                else _collision(raw, spellings[path])
            )
            continue
        spellings[path] = raw
        yield from _case_clash(path.rstrip("/"), path.endswith("/"), files, folders)


def _case_clash(
    path: str, is_folder: bool, files: dict[str, str], folders: dict[str, str]
) -> Iterator[Finding]:
    parts = path.split("/")
    parents = ["/".join(parts[:i]) for i in range(1, len(parts))]
    for parent in [*parents, path] if is_folder else parents:
        key = fold(parent)
        if key in files:
            yield rules.PATH_FILE_AND_FOLDER.at(
                f"`{shown(files[key])}` is a file here and a folder there.", path
            )
            return
        if folders.setdefault(key, parent) != parent:
            yield _collision(path, folders[key])
            return
    if is_folder:
        return
    key = fold(path)
    if key in folders:
        yield rules.PATH_FILE_AND_FOLDER.at(
            f"`{shown(path)}` is a file here and a folder there.", path
        )
    elif files.setdefault(key, path) != path:
        yield _collision(path, files[key])


def _collision(path: str, other: str) -> Finding:
    return rules.PATH_COLLISION.at(
        f"The name is the same as `{shown(other)}` where case or Unicode form is not told apart.",
        path,
    )
