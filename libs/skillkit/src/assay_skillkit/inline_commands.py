"""Commands that stand in running text and in tables, between backticks."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from assay_skillkit.shell.purpose import KNOWN_PROGRAMS
from assay_skillkit.skill_md.markdown import Markdown, plain_text

MAX_INLINE: Final = 100

_SPAN: Final = re.compile(r"(?<!`)`([^`\n]{4,500})`(?!`)")
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_RUNS: Final = re.compile(
    r"^(?:(?:python3?|node|bash|sh|ruby|perl|deno|bun)\s+(?:-m\s+\w|\S*[./]\S)"
    r"|(?:uv|npm|pnpm|yarn)\s+(?:run|exec)\s+\S|(?:npm|pnpm|yarn)\s+(?:test|start)\b|(?:uvx|npx)\s+\S|\./\S+\.\w+\s)"
)
_TABLE_HEAD: Final = re.compile(r"\bcommands?\b|\brun\b|\busage\b|命令", re.IGNORECASE)
_ROW: Final = re.compile(r"^\s*\|")
_RULE: Final = re.compile(r"^\s*\|[\s:|-]+\|?\s*$")
_PATH: Final = re.compile(r"\S+\.(?:py|js|mjs|cjs|ts|sh|rb|pl)$")


@dataclass(frozen=True, slots=True)
class InlineCommand:
    command: str
    heading: str
    lead: str
    """The words around it: its line, or the other cells of its row."""
    line: int
    """In the body, counted from 1."""


def inline_commands(
    document: Markdown, *, shown_in_blocks: Collection[str]
) -> Iterator[InlineCommand]:
    """Code spans that are commands, in order, the first of very many.

    In running text only what calls an interpreter or a project's own script counts, and nothing
    whose script a block shows how to call; in a table whose head speaks of commands, any program.
    """
    found = 0
    heading, table_of_commands, in_table = "", False, False
    for number, line in document.prose:
        if section := _HEADING.match(line):
            heading = plain_text(section[1])
        if not _ROW.match(line):
            in_table = False
        elif not in_table:
            in_table, table_of_commands = True, _TABLE_HEAD.search(line) is not None
            continue
        if _RULE.match(line):
            continue
        for match in _SPAN.finditer(line):
            command = match[1].strip().removeprefix("$ ")
            known = in_table and table_of_commands
            if not _is_command(command, known, shown_in_blocks):
                continue
            lead = f"{line[: match.start()]} {line[match.end() :]}".replace("|", " ")
            yield InlineCommand(command, heading, lead, number)
            found += 1
            if found >= MAX_INLINE:
                return


def _is_command(span: str, in_command_table: bool, shown: Collection[str]) -> bool:
    words = span.split()
    if in_command_table and len(words) > 1 and words[0] in KNOWN_PROGRAMS:
        return True
    if not _RUNS.match(span):
        return False
    scripts = [word for word in words if _PATH.match(word)]
    return not any(script in shown for script in scripts)
