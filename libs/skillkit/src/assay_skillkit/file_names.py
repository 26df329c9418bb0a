"""Names of files: the one that makes a skill, and those that prose and commands mention."""

import posixpath
import re
from typing import Final

SKILL_MD: Final = "SKILL.md"

FILE_NAME: Final = re.compile(
    r"(?<![\w./-])(?:[\w-][\w.-]*/)*[\w-][\w.-]*\.(?:csv|tsv|jsonl?|ya?ml|xml|html?|md|txt|log|ini"
    r"|toml|sql|png|jpe?g|gif|svg|pdf|xlsx?|docx?|pptx?|zip|gz|tar|db|sqlite|py|js|ts|sh|ipynb"
    r"|wav|mp3|mp4|parquet)(?![\w/-])",
    re.IGNORECASE,
)
"""A file name with an extension that is common enough not to be taken for prose."""

_BINARY: Final = frozenset(
    {"png", "jpg", "jpeg", "gif", "svg", "pdf", "xls", "xlsx", "doc", "docx", "ppt", "pptx"}
    | {"zip", "gz", "tar", "db", "sqlite", "wav", "mp3", "mp4", "parquet"}
)


def extension(path: str) -> str:
    """`csv` for `a/b.csv`, `/` for a folder, empty where there is none."""
    return "/" if path.endswith("/") else posixpath.splitext(path)[1].removeprefix(".").lower()


def is_text_file(path: str) -> bool:
    """Whether a file of this name can be written as text."""
    return extension(path) not in _BINARY
