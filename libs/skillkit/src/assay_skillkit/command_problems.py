"""What is wrong with documented commands, as far as reading them tells."""

import re
from collections.abc import Iterator
from typing import Final

from assay_contracts.skills import Finding
from assay_skillkit.commands import holds_commands, is_bad_example, warns_against
from assay_skillkit.limits import Limits
from assay_skillkit.rules import skill as rules
from assay_skillkit.script_options import options_of, takes
from assay_skillkit.shell.blocks import block_commands
from assay_skillkit.shell.lexer import fragments
from assay_skillkit.show import shown
from assay_skillkit.skill_md.markdown import FencedBlock, Markdown
from assay_skillkit.tree import Tree, read_start

MAX_PROBLEMS: Final = 20

_PROGRAMS: Final = frozenset(
    {"uv", "uvx", "pip", "pip3", "python", "python3", "npm", "npx", "node", "pnpm", "yarn", "git"}
    | {"docker", "cargo", "brew", "sudo", "apt", "apt-get", "conda", "poetry", "pipx", "bash"}
)
_OPTION: Final = re.compile(r"^(--[A-Za-z][\w-]*|-[A-Za-z])(?:=.*)?$", re.DOTALL)


def command_problems(
    body: Markdown, first_line: int, tree: Tree, path: str, limits: Limits
) -> Iterator[Finding]:
    """Words that stand twice, and options that the skill's own scripts do not take."""
    reader = _Reader(tree, limits)
    reported: set[str] = set()
    for block in body.blocks:
        if not holds_commands(block) or is_bad_example(block):
            continue
        for line, words in _simple_commands(block):
            for finding in reader.problems(words, path, first_line + line - 1):
                if finding.message not in reported and len(reported) < MAX_PROBLEMS:
                    reported.add(finding.message)
                    yield finding


class _Reader:
    def __init__(self, tree: Tree, limits: Limits) -> None:
        self._tree = tree
        self._may_read = limits.small_file
        """Bytes of all scripts together: what parsing them costs is bounded by that."""
        self._options: dict[str, frozenset[str] | None] = {}

    def problems(self, words: list[str], path: str, line: int) -> Iterator[Finding]:
        if len(words) > 1 and words[0] == words[1] and words[0] in _PROGRAMS:
            yield rules.COMMAND_DOUBLED_WORD.at(
                f"The command begins with `{words[0]} {words[1]}`.", path, line
            )
        found = next(
            ((at, script) for at, word in enumerate(words) if (script := self._script(word))), None
        )
        if found is None:
            return
        at, script = found
        options = self._options_of(script)
        for word in words[at + 1 :]:
            if word == "--":
                return
            match = _OPTION.match(word)
            if match and options is not None and not takes(match[1], options):
                yield rules.OPTION_UNKNOWN.at(
                    f"`{shown(script)}` has no option `{shown(match[1])}`.", path, line
                )

    def _script(self, word: str) -> str | None:
        """The Python file of the skill that `word` names, from its folder or from above it."""
        if not word.endswith(".py"):
            return None
        place = word.removeprefix("./")
        if place in self._tree.sizes:
            return place
        behind = [file for file in self._tree.sizes if "/" in file and place.endswith(f"/{file}")]
        return behind[0] if len(behind) == 1 else None

    def _options_of(self, script: str) -> frozenset[str] | None:
        if script not in self._options:
            self._options[script] = self._read_options(script)
        return self._options[script]

    def _read_options(self, script: str) -> frozenset[str] | None:
        size = self._tree.sizes[script]
        if size > self._may_read:
            return None
        self._may_read -= size
        source = read_start(self._tree, script, size)
        return options_of(source.decode("utf-8", "replace"))


def _simple_commands(block: FencedBlock) -> Iterator[tuple[int, list[str]]]:
    """The words of each simple command, with the line of the body that it begins on."""
    searched_to = 0
    for each in block_commands(block.lines):
        first = each.written.split("\n", 1)[0]
        at = next(
            (n for n in range(searched_to, len(block.lines)) if first in block.lines[n]),
            searched_to,
        )
        searched_to = at + each.written.count("\n") + 1
        if warns_against(each.comment):
            continue
        line = block.first_line + 1 + at
        words: list[str] = []
        for fragment in fragments(each.command, notation=True):
            if fragment.kind == "operator" and fragment.text[-1] not in "<>":
                yield line, words
                words = []
            elif fragment.kind in ("bare", "quoted"):
                words.append(fragment.value)
        yield line, words
