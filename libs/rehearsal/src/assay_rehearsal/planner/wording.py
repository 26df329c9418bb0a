"""Putting what a command does into the words of someone who does not know the command."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay_rehearsal.planner.rules import PlanRules
from assay_skillkit.commands import DocumentedCommand
from assay_skillkit.document import SkillDocument
from assay_skillkit.file_names import FILE_NAME
from assay_skillkit.words import content_words, plain_words, stem

_WORDS_TO_BE_FOUND_BY: Final = 4
"""Content words shared with the description that let an agent find the skill among others."""
_LONGEST_AIM: Final = 160
_LEAD_IN: Final = re.compile(
    r"^(?:(?:to|then|finally|first|next|optionally|now|or|and|you can|for example|example|usage"
    r"|basic usage|quick start|step \d+)[,:]?\s+)+",
    re.IGNORECASE,
)
_RUN_THIS_TO: Final = re.compile(
    r"^(?:run|use|execute|call|invoke|try)\b[^.]{0,60}?\b(?:to|which|that|for)\s+", re.IGNORECASE
)
_DOCSTRING: Final = re.compile(
    r"\A(?:#![^\n]*\n)?\s*(?:#[^\n]*\n)*\s*[ru]?(\"\"\"|''')(.*?)\1", re.DOTALL
)
_OPENINGS: Final = (
    ("{given} What I need: {aim}.", "In this folder you find {inputs}."),
    ("{given} This is what I want done: {aim}.", "I was handed {inputs}."),
    ("Please help me out. {given} The goal is this: {aim}.", "You have {inputs} to go by."),
    ("{given} A colleague is waiting for this since yesterday: {aim}.", "She left us {inputs}."),
    ("{given} Before lunch I have to hand this in: {aim}.", "It all starts from {inputs}."),
)
"""One for each variant: without input files, the words are all that tells two tasks apart."""


def aims(
    command: DocumentedCommand, document: SkillDocument, script: str, rules: PlanRules
) -> Iterator[str]:
    """Ways to say what the command is for, best first, none of which gives the skill away."""
    sources = (
        command.lead,
        _docstring(script),
        command.heading,
        f"{command.heading}: {command.lead}",
        document.title,
        *_sentences(document.prose),
    )
    seen: set[str] = set()
    for source in sources:
        aim = _as_aim(source)
        if aim not in seen and len(content_words(aim)) > 1 and not rules.leaks(aim):
            seen.add(aim)
            yield aim


def section_aims(document: SkillDocument, rules: PlanRules) -> Iterator[str]:
    """Ways to ask for what the instructions cover, where there is no command to go by."""
    headings = re.findall(r"^#{1,6}\s+(.+)$", document.prose, flags=re.MULTILINE)
    seen: set[str] = set()
    for source in (*_sentences(document.prose), *headings, document.title, "what fits this need"):
        aim = _as_aim(source)
        if aim not in seen and content_words(aim) and not rules.leaks(aim):
            seen.add(aim)
            yield aim


@dataclass(frozen=True, slots=True)
class Wording:
    """Writes the prompts of one skill's tasks."""

    description: str
    backed: frozenset[str]
    """Content words of what the skill really does, as its body and scripts tell. The description's
    words are used only where these back them: a description of something else must not be found."""
    rules: PlanRules

    def prompt(self, aim: str, *, inputs: Sequence[str], ending: str, variant: int) -> str:
        """What is given, what is wanted, what it is about, and where the result goes."""
        opening, giving = _OPENINGS[variant % len(_OPENINGS)]
        given = giving.format(inputs=_listed([f"`{name}`" for name in inputs])) if inputs else ""
        start = " ".join(opening.format(given=given, aim=aim).split())
        if self.rules.leaks(start):
            return f"{start} {ending}"
        for about in _orders(self._topics(start)):
            prompt = f"{start} It is about {_listed(about)}. {ending}"
            if not self.rules.leaks(prompt):
                return prompt
        return f"{start} {ending}"

    def _topics(self, start: str) -> tuple[str, ...]:
        said = content_words(start)
        missing = _WORDS_TO_BE_FOUND_BY - len(said & content_words(self.description))
        fresh: dict[str, str] = {}
        for word in plain_words(self.description):
            if content_words(word) & (self.backed - said):
                fresh.setdefault(stem(word), word)
        return tuple(fresh.values())[: max(0, missing)]


def _orders(topics: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The topics in every order, then fewer of them: two in a row may spell the skill's name."""
    for count in range(len(topics), 0, -1):
        yield from itertools.permutations(topics, count)


def _as_aim(source: str) -> str:
    text = source.split("\n\n", maxsplit=1)[0]
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\([^)]*\)|`[^`]*`|https?://\S+", " ", text)
    text = re.sub(r"[*_#|>]+", " ", FILE_NAME.sub("it", text))
    first = re.split(r"(?<=[.!?。！？])\s", " ".join(text.split()))[0]
    first = _RUN_THIS_TO.sub("", _LEAD_IN.sub("", first.strip(" -:–—"))).strip(" .:;,!?-–—：。；，")
    return (
        first[:1].lower() + first[1:_LONGEST_AIM] if first[:2].istitle() else first[:_LONGEST_AIM]
    )


def _docstring(script: str) -> str:
    match = _DOCSTRING.match(script)
    if match:
        return match.group(2).strip()
    comments = re.match(r"\A(?:#![^\n]*\n)?((?:\s*(?:#|//)[^\n]*\n)+)", script)
    return re.sub(r"^\s*(?:#|//)\s?", "", comments.group(1), flags=re.MULTILINE) if comments else ""


def _sentences(prose: str) -> tuple[str, ...]:
    paragraphs = (part for part in re.split(r"\n\s*\n", prose) if not part.lstrip().startswith("#"))
    return tuple(re.sub(r"^\s*[-*+]\s+", "", part.strip()) for part in paragraphs if part.strip())


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
