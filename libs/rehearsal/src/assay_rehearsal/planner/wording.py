"""Putting what is to be done into the words of someone who does not know the skill."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay_rehearsal.disclaimers import without_disclaimers
from assay_rehearsal.planner.needs import base_form, needs
from assay_rehearsal.planner.rules import PlanRules
from assay_skillkit.document import SkillDocument
from assay_skillkit.file_names import FILE_NAME
from assay_skillkit.words import content_words

_LONGEST_AIM: Final = 120
_MOST_AIMS: Final = 12
_MOST_NEEDS: Final = 6
_ENOUGH_SHARED: Final = 0.1
"""Share of a description's content words that the skill's body has too, for it to be believed."""
_ENOUGH_WORDS: Final = 2
_LEAD_IN: Final = re.compile(
    r"^(?:(?:to|then|finally|first|next|optionally|now|or|and|you can|for example|example|usage"
    r"|basic usage|quick start|step \d+)[,:]?\s+)+",
    re.IGNORECASE,
)
_RUN_THIS_TO: Final = re.compile(
    r"^(?:run|use|execute|call|invoke|try)\b[^.]{0,60}?\b(?:to|which|that|for)\s+", re.IGNORECASE
)
_NO_AIM: Final = re.compile(
    r"^(?:usage|example|examples|output|input|note|notes|overview|setup|set-up|installation|install"
    r"|quick start|commands?|options?|steps?|requirements|prerequisites|workflow|run|use|see"
    r"|in this folder|the (?:first|second|last)|this (?:prints|gives|makes)|prints)\b",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(r"<[A-Za-z/!][^>]*>")
_DOCSTRING: Final = re.compile(
    r"\A(?:#![^\n]*\n)?\s*(?:#[^\n]*\n)*\s*[ru]?(\"\"\"|''')(.*?)\1", re.DOTALL
)
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_GIVEN: Final = (
    "In this folder you find {inputs}.",
    "I was handed {inputs}.",
    "You have {inputs} to go by.",
    "She left us {inputs}.",
    "It all starts from {inputs}.",
)
_CLOSINGS: Final = (
    "I do not quite know how to go about it.",
    "Many thanks in advance for your trouble.",
    "I tried by hand, and gave up after a while.",
    "Nobody else around here knows how.",
    "Somebody has asked me for this twice already.",
)
"""One for each variant: without input files, the words are all that tells two tasks apart."""


def aims(leads: Sequence[str], document: SkillDocument, scripts: Sequence[str]) -> Iterator[str]:
    """Ways to say what is wanted, by what the document says around its commands, best first."""
    headings = re.findall(r"^#{1,6}\s+(.+)$", document.prose, flags=re.MULTILINE)
    sources = (
        *leads,
        *map(_docstring, scripts),
        *headings,
        document.title,
        *_sentences(document.prose),
    )
    seen: set[str] = set()
    for source in sources:
        aim = _as_aim(source)
        if aim in seen or len(content_words(aim)) < _ENOUGH_WORDS or _NO_AIM.match(aim):
            continue
        seen.add(aim)
        yield aim
        if len(seen) >= _MOST_AIMS:
            return


@dataclass(frozen=True, slots=True)
class Wording:
    """Writes the prompts of one skill's tasks."""

    skill_name: str
    description: str
    backed: frozenset[str]
    """Content words of what the skill really does, as its body and scripts tell. The description's
    words are used only where these back them: a description of something else must not be found."""
    rules: PlanRules

    def prompts(
        self,
        aims: Sequence[str],
        *,
        inputs: Sequence[str],
        outputs: Sequence[str],
        variant: int,
        in_repository: bool,
    ) -> Iterator[str]:
        """Prompts that give nothing away, best first: what is given, wanted, and goes where."""
        chinese = _CJK.search(self.description) is not None
        opening = _opening(inputs, variant, chinese=chinese, in_repository=in_repository)
        ending = _ending(outputs, variant, chinese=chinese)
        wanted = self._wanted(aims, variant)
        for said in wanted:
            prompt = " ".join(part for part in (opening, said, ending) if part)
            if not self.rules.leaks(prompt):
                yield prompt

    def _wanted(self, aims: Sequence[str], variant: int) -> Iterator[str]:
        """What is wanted: needs of the description that the body backs, and aims of the body."""
        found = needs(self.description) if self._is_backed() else ()
        blind = (self._without_name(need) for need in found)
        known = [need for need in blind if content_words(need)][:_MOST_NEEDS]
        said = [_request(aim) for aim in aims if not self.rules.leaks(aim)]
        turned, asked = _turned(said, variant)[:4], _turned(known, variant)
        for extra in turned:
            if len(asked) > 1:
                yield " ".join((*asked[:2], extra))
        yield from (f"{need} {extra}" for need in asked for extra in turned)
        if len(asked) > 1:
            yield " ".join(asked[:2])
        yield from asked
        yield from turned
        yield "Please do what fits this need."

    def _is_backed(self) -> bool:
        """Whether the skill does anything of what its description says."""
        words = content_words(without_disclaimers(self.description))
        return len(words & self.backed) >= _ENOUGH_SHARED * len(words)

    def _without_name(self, need: str) -> str:
        """The need, where it spells the skill's name without one part of that."""
        if not self.rules.leaks(need):
            return need
        for part in self.skill_name.split("-"):
            shorter = " ".join(re.sub(rf"(?i)\b{re.escape(part)}\w*", " ", need).split())
            if not self.rules.leaks(shorter):
                return shorter.replace(" .", ".")
        return ""


def _turned(texts: Sequence[str], variant: int) -> list[str]:
    """Another one first for each variant."""
    first = variant % len(texts) if texts else 0
    return [*texts[first:], *texts[:first]]


def _opening(inputs: Sequence[str], variant: int, *, chinese: bool, in_repository: bool) -> str:
    names = [f"`{name}`" for name in inputs]
    if chinese:
        given = f"文件夹里有 {'、'.join(names)}。" if names else ""
        return given + ("如果这里还不是 git 仓库，请先建一个。" if in_repository else "")
    given = _GIVEN[variant % len(_GIVEN)].format(inputs=_listed(names)) if names else ""
    repository = "If this folder is no git repository yet, make it one." if in_repository else ""
    return " ".join(part for part in (given, repository) if part)


def _ending(outputs: Sequence[str], variant: int, *, chinese: bool) -> str:
    names = [f"`{name}`" for name in outputs]
    if chinese:
        return f"结果请保存到 {'、'.join(names)}。" if names else "直接修改原文件即可。"
    closing = _CLOSINGS[variant % len(_CLOSINGS)]
    saving = f"Save the result in {_listed(names)}." if names else "Leave it where it is."
    return " ".join(part for part in (closing, saving) if part)


def _request(aim: str) -> str:
    """An aim as a request: `Wrap long lines` as it is, `totals by month` as something needed."""
    if _CJK.search(aim):
        return f"请{aim}。"
    first, _, rest = aim.partition(" ")
    verb = base_form(first.lower())
    if rest and (verb != first.lower() or first[:1].isupper()) and first.isalpha():
        return f"In short: {aim}."
    return f"In short, I need this: {aim}."


def _as_aim(source: str) -> str:
    text = source.split("\n\n", maxsplit=1)[0]
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\([^)]*\)|`[^`]*`|https?://\S+", " ", _MARKUP.sub(" ", text))
    text = re.sub(r"[*_#|>]+", " ", FILE_NAME.sub("it", text))
    text = re.sub(r"^\s*(?:[-+]|\d+[.)])\s+", "", text)
    first = re.split(r"(?<=[.!?。！？])\s", " ".join(text.split()))[0]
    first = _RUN_THIS_TO.sub("", _LEAD_IN.sub("", first.strip(" -:–—"))).strip(" .:;,!?-–—：。；，")
    return first if len(first) <= _LONGEST_AIM and "skill" not in first.lower() else ""


def _docstring(script: str) -> str:
    match = _DOCSTRING.match(script)
    if match:
        return match.group(2).strip()
    comments = re.match(r"\A(?:#![^\n]*\n)?((?:\s*(?:#|//)[^\n]*\n)+)", script)
    return re.sub(r"^\s*(?:#|//)\s?", "", comments.group(1), flags=re.MULTILINE) if comments else ""


def _sentences(prose: str) -> tuple[str, ...]:
    paragraphs = (part for part in re.split(r"\n\s*\n", prose) if not part.lstrip().startswith("#"))
    plain = (part.strip() for part in paragraphs)
    return tuple(part for part in plain if part and not part.startswith(("|", "<", "-", "```")))


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
