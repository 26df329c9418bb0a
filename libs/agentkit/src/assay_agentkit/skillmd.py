"""What a SKILL.md documents: its commands, its sample files, the files it refers to. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import yaml  # type: ignore[import-untyped]

from assay_agentkit.shell import shell_lines

_FRONTMATTER: Final = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*([^`]*)$")
_HEADING: Final = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_LINK: Final = re.compile(r"\]\(\s*<?([^)\s>#]+)")
_CODE_SPAN: Final = re.compile(r"`([^`\n]+)`")
_RELATIVE_PATH: Final = re.compile(r"^(?:\./)?[\w-][\w.-]*(?:/[\w.-]+)+$")
_OUTPUT_WORDS: Final = re.compile(
    r"\b(output|outputs|prints?|printed|produces?|returns?|result|results|response)\b",
    re.IGNORECASE,
)
_SHELL_LANGUAGES: Final = frozenset({"bash", "sh", "shell", "zsh", "console", "shell-session"})
_DATA_LANGUAGES: Final = frozenset(
    {"csv", "tsv", "json", "jsonl", "yaml", "yml", "xml", "html", "ini", "toml", "sql"}
    | {"text", "txt", "plaintext", "markdown", "md", "log", ""}
)
_PROGRAMS: Final = re.compile(r"^(?:python3?|node|bash|sh|uv run|npx|deno|ruby|perl|\./)\b|^\./")

FILE_NAME: Final = re.compile(
    r"(?<![\w./-])(?:[\w-][\w.-]*/)*[\w-][\w.-]*\.(?:csv|tsv|jsonl?|ya?ml|xml|html?|md|txt|log|ini"
    r"|toml|sql|png|jpe?g|gif|svg|pdf|xlsx?|docx?|pptx?|zip|gz|tar|db|sqlite|py|js|ts|sh|ipynb"
    r"|wav|mp3|mp4|parquet)(?![\w/-])",
    re.IGNORECASE,
)
"""A file name with an extension that is common enough not to be taken for prose."""


@dataclass(frozen=True, slots=True)
class DocumentedCommand:
    command: str
    """As a shell would take it: prompt and comments gone, continued lines joined."""
    heading: str
    """Of the section it stands in."""
    lead: str
    """What is said right before it: the comment above it, else the paragraph above its block."""
    expected_output: str = ""
    """What it is documented to print; empty if nothing is."""


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
    samples: tuple[SampleFile, ...]
    references: tuple[str, ...]
    """Relative paths that links and code spans point to, in order."""


@dataclass(frozen=True, slots=True)
class _Block:
    language: str
    info: str
    lines: tuple[str, ...]
    heading: str
    lead: str

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def is_shell(self) -> bool:
        if self.language in _SHELL_LANGUAGES:
            return True
        first = next((line for line in self.lines if line.strip()), "")
        return not self.language and bool(_PROGRAMS.match(first.strip().removeprefix("$ ")))

    @property
    def shows_output(self) -> bool:
        return self.language in _DATA_LANGUAGES and bool(_OUTPUT_WORDS.search(self.lead))


def parse_skill(text: str) -> SkillDocument:
    """Read a SKILL.md. Never raises: what is malformed is taken for absent."""
    frontmatter, body = _split(text)
    blocks, prose, title = _scan(body)
    return SkillDocument(
        description=_description(frontmatter),
        title=title,
        body=body,
        prose=prose,
        commands=tuple(_commands(blocks)),
        samples=tuple(_samples(blocks)),
        references=_references(prose),
    )


def _split(text: str) -> tuple[str, str]:
    text = text.removeprefix("\ufeff")
    match = _FRONTMATTER.match(text)
    return (match.group(1), text[match.end() :]) if match else ("", text)


def _description(frontmatter: str) -> str:
    try:
        fields = yaml.safe_load(frontmatter)
    except yaml.YAMLError:
        return ""
    value = fields.get("description") if isinstance(fields, dict) else None
    return " ".join(str(value).split()) if value else ""


def _scan(body: str) -> tuple[tuple[_Block, ...], str, str]:
    """The fenced blocks, the prose between them, and the first heading."""
    blocks: list[_Block] = []
    prose: list[str] = []
    paragraph: list[str] = []
    heading = title = ""
    after_blank = False
    lines = iter(body.splitlines())
    for line in lines:
        fence = _FENCE.match(line)
        if fence:
            inside = tuple(_until_closed(lines, fence.group(1)))
            info = fence.group(2).strip()
            language = info.split()[0].strip("{}.").lower() if info else ""
            blocks.append(_Block(language, info, inside, heading, " ".join(paragraph)))
            paragraph = []
            continue
        prose.append(line)
        section = _HEADING.match(line)
        if section:
            heading, paragraph = _plain(section.group(2)), []
            title = title or heading
        elif line.strip():
            paragraph = [line.strip()] if after_blank else [*paragraph, line.strip()]
        after_blank = not line.strip()
    return tuple(blocks), "\n".join(prose), title


def _until_closed(lines: Iterator[str], fence: str) -> Iterator[str]:
    for line in lines:
        if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            return
        yield line


def _plain(markdown: str) -> str:
    """Text without links, emphasis and list marks."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    text = re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", text)
    return " ".join(re.sub(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", "", text).split())


def _commands(blocks: Sequence[_Block]) -> Iterator[DocumentedCommand]:
    for index, block in enumerate(blocks):
        if not block.is_shell:
            continue
        found = [
            DocumentedCommand(
                command=spoken.command,
                heading=block.heading,
                lead=_plain(spoken.comment or block.lead),
                expected_output=spoken.output,
            )
            for spoken in shell_lines(block.lines)
        ]
        after = blocks[index + 1] if index + 1 < len(blocks) else None
        if found and after and after.shows_output and after.heading == block.heading:
            found[-1] = replace(found[-1], expected_output=found[-1].expected_output or after.text)
        yield from found


def _samples(blocks: Sequence[_Block]) -> Iterator[SampleFile]:
    for block in blocks:
        if block.is_shell or block.shows_output or block.language not in _DATA_LANGUAGES:
            continue
        names = FILE_NAME.findall(f"{block.info} {block.lead}")
        if names and block.text.strip():
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
