"""What a SKILL.md tells the agent that follows it: its commands, sample files and references."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay_skillkit.code_blocks import CodeBlock, code_blocks
from assay_skillkit.commands import (
    DATA_LANGUAGES,
    DocumentedCommand,
    documented_commands,
    holds_commands,
    shows_output,
)
from assay_skillkit.file_names import FILE_NAME
from assay_skillkit.skill_md.markdown import FencedBlock, read_markdown
from assay_skillkit.skill_md.read import read_skill_md

_LINK: Final = re.compile(r"\]\(\s*<?([^)\s>#]+)")
_CODE_SPAN: Final = re.compile(r"`([^`\n]+)`")
_RELATIVE_PATH: Final = re.compile(r"^(?:\./)?[\w-][\w.-]*(?:/[\w.-]+)+$")


@dataclass(frozen=True, slots=True)
class SampleFile:
    """A file whose content the document shows."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class SkillDocument:
    description: str
    title: str
    body: str
    """Everything below the frontmatter."""
    prose: str
    """The body without its fenced blocks."""
    commands: tuple[DocumentedCommand, ...]
    code: tuple[CodeBlock, ...]
    samples: tuple[SampleFile, ...]
    references: tuple[str, ...]
    """Relative paths that links and code spans point to, in order."""


def parse_skill(text: str) -> SkillDocument:
    """Read a SKILL.md. Never raises: what is malformed is taken for absent."""
    skill_md = read_skill_md(text.encode("utf-8", "replace"), folder=None)
    body = skill_md.body.removeprefix("\n")
    markdown = read_markdown(body)
    prose = "\n".join(line for _, line in markdown.prose).removesuffix("\n")
    return SkillDocument(
        description=" ".join(skill_md.description.split()),
        title=markdown.title,
        body=body,
        prose=prose,
        commands=documented_commands(markdown),
        code=code_blocks(markdown.blocks),
        samples=tuple(_samples(markdown.blocks)),
        references=_references(prose),
    )


def _samples(blocks: Sequence[FencedBlock]) -> Iterator[SampleFile]:
    for block in blocks:
        if (
            holds_commands(block)
            or shows_output(block)
            or block.language not in DATA_LANGUAGES
            or not block.text.strip()
        ):
            continue
        if names := FILE_NAME.findall(f"{block.info} {block.lead}"):
            yield SampleFile(path=names[-1], content=block.text.rstrip("\n") + "\n")


def _references(prose: str) -> tuple[str, ...]:
    spans = (span.strip() for span in _CODE_SPAN.findall(prose))
    targets = [*_LINK.findall(prose), *(span for span in spans if _RELATIVE_PATH.match(span))]
    local = (path.removeprefix("./") for path in targets if "://" not in path)
    return tuple(
        dict.fromkeys(
            path for path in local if not path.startswith(("/", "mailto:", "..")) and "." in path
        )
    )
