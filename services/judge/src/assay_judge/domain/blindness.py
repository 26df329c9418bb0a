"""A task must not give its skill away: not by name, not by a respelling, not by a path."""

import posixpath
import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

_INVISIBLE: Final = re.compile(r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_GAP: Final = r"[\W_]{0,3}"
_LOOKALIKES: Final = str.maketrans(
    "авсԁеһіјкмոорԛѕтυѵԝхузαβεικνορτυχ", "abcdehijkmnopqstuvwxyzabeiknoptux"
)
"""Cyrillic, Armenian and Greek letters that are taken for Latin ones."""
_CODE: Final = frozenset({".py", ".js", ".mjs", ".ts", ".sh", ".rb", ".pl", ".go", ".rs", ".ipynb"})
_FILE_KINDS: Final = frozenset(
    {"csv", "docx", "epub", "gif", "html", "jpeg", "json", "markdown", "pdf", "png", "pptx", "rtf"}
    | {"sql", "svg", "toml", "tsv", "txt", "wav", "xls", "xlsx", "xml", "yaml", "zip"}
)
"""Names that stand in the names of files: no task about such files could do without them."""
_GLUED_FROM: Final = 6
"""From this many signs on, a name counts even inside a longer word."""


@dataclass(frozen=True, slots=True)
class HiddenSkill:
    """The skill that no task may give away."""

    name: str
    description: str
    paths: tuple[str, ...]
    """Of the skill's files, relative to its folder."""

    @property
    def is_plain_word(self) -> bool:
        """Whether the name is a word that the subject cannot be spoken of without, such as `pdf`.

        Such a name cannot be kept out of any honest task; then only speaking of it as the name of a
        skill counts.
        """
        name, description = _folded(self.name), _folded(self.description)
        if "-" in name:
            return False
        if name in _FILE_KINDS:
            return True
        return name in (re.findall(r"[^\W_]+", description) if _has_case(name) else description)


def name_rule(skill: HiddenSkill) -> str:
    """What `leaks` wants of the name, for whoever writes tasks."""
    if skill.is_plain_word:
        return (
            f"`{skill.name}` is the skill's name and also a plain word of its subject. The word "
            "may stand in a task, but not in quotation marks or backticks, not beside the word "
            f"“skill”, and not as a thing to use (“the {skill.name} tool”, command or plugin)."
        )
    return f"No task may contain the skill's name, `{skill.name}`, in any spelling."


def leaks(text: str, skill: HiddenSkill) -> tuple[str, ...]:
    """What the text gives away; empty when it is blind."""
    folded = _folded(text)
    found: list[str] = []
    if _name_pattern(skill).search(folded):
        found.append(f"it names the skill ({skill.name!r}, in whatever spelling)")
    if re.search(r"\bskill\.md\b", folded):
        found.append("it mentions SKILL.md")
    if re.search(r"(?:^|[^\w.-])skills/", folded):
        found.append("it contains a path to skills")
    found.extend(
        f"it mentions {path!r}, a file of the skill"
        for path in _telling_paths(skill.paths)
        if _folded(path) in folded
        and re.search(rf"(?<![\w-]){re.escape(_folded(path))}(?![\w-])", folded)
    )
    return tuple(found)


def _folded(text: str) -> str:
    """Lower case, compatible forms, no accents, no invisible signs, no look-alikes."""
    apart = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text))
    bare = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return unicodedata.normalize("NFKC", bare).casefold().translate(_LOOKALIKES)


def _has_case(text: str) -> bool:
    """Scripts without it, such as Chinese, do not reliably set their words apart."""
    return text.upper() != text.lower()


def _name_pattern(skill: HiddenSkill) -> re.Pattern[str]:
    parts = [re.escape(part) for part in _folded(skill.name).split("-") if part]
    name = _GAP.join(parts)
    if skill.is_plain_word:
        tick = r"[`'\"“”‘’]"
        return re.compile(
            rf"\bskill{_GAP}{name}\b|\b{name}{_GAP}skill|{tick}{name}{tick}"
            rf"|\b(?:use|using|with|invoke|call)\s+(?:the\s+)?{name}\s+(?:tool|command|plugin)\b"
        )
    letters = _folded(skill.name).replace("-", "")
    if len(letters) >= _GLUED_FROM:
        return re.compile(_GAP.join(map(re.escape, letters)))
    # Only Latin letters and digits glue a short name to its surroundings: 用pdf处理 has it.
    return re.compile(rf"(?<![a-z0-9]){name}(?:['’]?s)?(?![a-z0-9])")


def _telling_paths(paths: Collection[str]) -> tuple[str, ...]:
    """Paths with a folder, and the bare names of programs: nobody hits on those by chance."""
    nested = [path for path in paths if "/" in path]
    programs = [
        posixpath.basename(path) for path in paths if posixpath.splitext(path)[1].lower() in _CODE
    ]
    return tuple(dict.fromkeys([*nested, *programs]))
