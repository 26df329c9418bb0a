"""What a skill names: tools, variables, hosts; and what it brings along itself. Pure."""

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from packaging.utils import canonicalize_name

from assay_contracts.runs import TraceStep
from assay_contracts.skills import Dependencies
from assay_sandbox_runner.domain.program_runs import command_of
from assay_skillkit.shell.paths import programs_of

_WORD: Final = re.compile(r"[A-Za-z0-9][\w.+-]*\w|\w")
_VARIABLE: Final = re.compile(
    r"""environ(?:\.get\(|\[)\s*["'](\w+)["']|getenv\(\s*["'](\w+)["']"""
    r"""|process\.env\.([A-Z]\w*)|process\.env\[["'](\w+)["']\]|ENV(?:\.fetch\(|\[)["'](\w+)["']"""
    r"""|\bexport\s+([A-Z]\w*)=|\$\{?([A-Z][A-Z0-9_]{2,})\b"""
    r"""|\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS|PAT))\b"""
)
TELLS_NOTHING: Final = frozenset(
    {"cd", "ls", "cat", "echo", "head", "tail", "grep", "mkdir", "cp", "mv", "rm", "test", "true"}
    | {"export", "which", "command", "find", "sed", "awk", "wc", "pwd", "set", "env", "sleep"}
    | {"python", "python3", "node", "bash", "sh", "source", ".", "[", "for", "if", "while"}
)
"""Programs that every agent runs: that one of them was run says nothing."""
_NAME_AT_START: Final = re.compile(r"@?[\w.-]+(?:/[\w.-]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillNeeds:
    """What is known of a skill whose failures are to be told from those of its surroundings."""

    words: frozenset[str]
    """Every word in its text files, among them the tools and hosts that it names."""
    variables: frozenset[str]
    """Environment variables that its programs read or that it tells of."""
    promised: frozenset[str]
    """Names of the files and packages that it brings or declares: what must be there."""

    def names(self, word: str) -> bool:
        return word in self.words

    def names_what_runs(self, step: TraceStep) -> bool:
        """Whether the step runs a tool that the skill names; interpreters and the like are none."""
        return any(
            self.names(program) and program not in TELLS_NOTHING
            for program in programs_of(command_of(step))
        )

    def promises(self, tool: str) -> bool:
        return tool in self.promised or canonicalize_name(tool) in self.promised


def skill_needs(
    files: Collection[str], texts: Mapping[str, str], dependencies: Dependencies
) -> SkillNeeds:
    """What the skill with these files needs.

    Args:
        files: Relative to its folder.
        texts: What its text files say.
        dependencies: As it declares them.
    """
    named = (_NAME_AT_START.match(each.strip()) for each in (*dependencies.pip, *dependencies.npm))
    packages = {canonicalize_name(found[0].lstrip("@").split("@")[0]) for found in named if found}
    return SkillNeeds(
        words=frozenset(word for text in texts.values() for word in _WORD.findall(text)),
        variables=frozenset(
            name
            for text in texts.values()
            for found in _VARIABLE.findall(text)
            for name in found
            if name
        ),
        promised=frozenset(posixpath.basename(path) for path in files) | packages,
    )


NOTHING_NEEDED: Final = SkillNeeds(words=frozenset(), variables=frozenset(), promised=frozenset())
