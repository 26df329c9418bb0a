"""The name of a skill: one rule for every place that takes, compares or uses one.

Letters and digits are those of any script: `données-csv` and `技能` are names as good as
`csv-analyzer`.
"""

import hashlib
import unicodedata
from collections.abc import Iterator
from typing import Final, Self

from assay_skillkit.archive.paths import is_reserved
from assay_skillkit.rules import skill as rules
from assay_skillkit.rules.rule import Rule
from assay_skillkit.show import shown

MAX_NAME: Final = 64
_MAX_BYTES: Final = 255
"""Of the name of a folder, on the file systems there are."""
_DIGEST: Final = 12


class SkillName(str):
    """A valid name in its normal form: safe as a folder's name and in a shell command.

    Raises:
        ValueError: It is no such name; the message says why.
    """

    __slots__ = ()

    def __new__(cls, name: str) -> Self:
        if name != normal_name(name):
            raise ValueError(f"`{shown(name)}` is no skill's name: it is not in its normal form.")
        for _, message in name_problems(name):
            raise ValueError(f"{message} It is no skill's name.")
        return super().__new__(cls, name)


def normal_name(name: str) -> str:
    """The form in which names are compared and used as folders."""
    return unicodedata.normalize("NFKC", name.strip())


def name_problems(name: str) -> Iterator[tuple[Rule, str]]:
    """Every rule that a name in its normal form breaks, and how."""
    quoted = f"The name `{shown(name)}`"
    if not name:
        yield rules.NAME_EMPTY, "The name is empty."
    if len(name) > MAX_NAME or len(name.encode("utf-8", "replace")) > _MAX_BYTES:
        yield rules.NAME_TOO_LONG, f"{quoted} has {len(name)} characters; {MAX_NAME} is the most."
    if name != name.lower():
        yield rules.NAME_NOT_LOWER_CASE, f"{quoted} is not in lower case."
    if name.startswith("-") or name.endswith("-"):
        yield rules.NAME_HYPHEN_EDGE, f"{quoted} starts or ends with a hyphen."
    if "--" in name:
        yield rules.NAME_HYPHEN_DOUBLE, f"{quoted} has two hyphens in a row."
    if not all(c.isalnum() or c == "-" for c in name):
        yield (
            rules.NAME_CHARACTERS,
            f"{quoted} has characters other than letters, digits and hyphens.",
        )
    if is_reserved(name):
        yield rules.NAME_RESERVED, f"{quoted} is a device on Windows."


def ascii_label(text: str) -> str:
    """`text` for what takes ASCII alone, such as names of sandboxes; different for different texts.

    What is not ASCII is left out, and a digest of the whole is put behind.
    """
    if text.isascii():
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGEST]
    return f"{text.encode('ascii', 'ignore').decode()}-{digest}"
