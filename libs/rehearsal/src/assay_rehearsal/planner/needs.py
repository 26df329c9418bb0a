"""What somebody who needs a skill would say, taken from how it describes itself. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from assay_rehearsal.disclaimers import without_disclaimers

_LONGEST: Final = 7
"""Words that are taken over in a row."""
_LONGEST_SIGNS: Final = 15
"""The same for scripts without spaces."""
_SENTENCE: Final = re.compile(
    r"(?<=[.;:!?])\s+|\s+[-–—]{1,2}\s+|[。；！？]|,\s+(?=(?:use|including)\b)"
)
_ABOUT_ITSELF: Final = re.compile(
    r"^(?:this skill|the skill|a skill (?:that|which|for|to)|skill (?:for|to)"
    r"|a (?:tool|guide|box|set) (?:that|for|to|of)"
    r"|(?:a )?(?:comprehensive|complete|practical|small|simple)\b[^,]*? for"
    r"|(?:it )?helps?(?: (?:you|users|agents))?(?: to| with)?|provides?|enables?|guides?)\s+",
    re.IGNORECASE,
)
_USE: Final = re.compile(
    r"^(?:use|invoke|trigger|apply|load)s?\s+(?:this(?: skill)?|it|the skill)?\s*"
    r"(?P<how>when(?:ever)?|if|for|to|as|while|before|after|in)\s+(?P<rest>.+)$",
    re.IGNORECASE,
)
_SOMEBODY: Final = re.compile(
    r"^(?:the user|a user|users?|someone|somebody|you|people|they)\s+(?:is |are )?"
    r"(?P<verb>wants?|needs?|asks?|asking|mentions?|requests?|has|have|says?)\s*(?P<to>to|for|about)?\s+",
    re.IGNORECASE,
)
_NO_NEED: Final = re.compile(
    r"^(?:always|never|needs?|requires?|uses|triggers?|keywords?|it\b|for\b.*\buse|only\b|must\b|you\b"
    r"|preferred|before any|has been|ignore|every task|english only|works? (?:only )?with)\b",
    re.IGNORECASE,
)
"""What a description says to whoever chooses, not what anybody would ask for."""
_DROPPED: Final = re.compile(r"\([^)]*\)|\[[^\]]*\]|[`*_\"“”]|https?://\S+")
_DANGLING: Final = re.compile(
    r"(?:[\s,:;-]+(?:a|an|the|of|in|on|at|to|for|with|by|and|or|from|into|as|that|which|is|are|when"
    r"|such|like|using|its|their|between|e\.g|i\.e)?)+$",
    re.IGNORECASE,
)
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_VERBS: Final = """
add adjust align analyse analyze annotate apply ask assemble assess audit automate back balance
batch benchmark brainstorm bring build bump calculate capture change check clean collect combine
compare compile compose compress compute configure connect convert copy correct count create crop
cut debug decode deduplicate deploy describe design detect diagnose diff discover display download
draft draw edit encode enforce ensure estimate evaluate examine execute explain explore export
extract fetch fill filter find fix flatten format gather generate get give grade group identify
implement import improve index inspect install instrument investigate join keep label lint list
load look make manage map mark measure merge migrate mock model monitor move normalise normalize
open optimise optimize organise organize pack paint parse perform plan plot predict prepare present
print process produce profile prototype publish pull put query rank read redact refactor remove
rename render replace replay report resize resolve restore review rewrite roll rotate round run
scaffold scale scan schedule score scrape search select send serve set set-up show simplify
simulate smooth solve sort split start stop store structure suggest sum summarise summarize sync
take tell test total trace track train transcribe transform translate trim turn typeset update
upload validate verify visualise visualize watch work write
"""
_BASE: Final = frozenset(_VERBS.split())


def needs(description: str) -> Iterator[str]:
    """Sentences somebody could say who needs what the description offers, in its order."""
    for part in _SENTENCE.split(without_disclaimers(description)):
        text = " ".join(_DROPPED.sub(" ", part or "").split()).strip(" .,:;-–—")
        if not text or _NO_NEED.match(text):
            continue
        said = _as_need_in_chinese(text) if _CJK.search(text) else _as_need(text)
        if said:
            yield said


def _as_need(text: str) -> str:
    use = _USE.match(text)
    if use:
        return _occasion(use["how"].lower(), use["rest"])
    plain = _ABOUT_ITSELF.sub("", text)
    first, _, rest = plain.partition(" ")
    verb = base_form(first.lower())
    if verb in _BASE and rest:
        return f"Please {verb} {_short(rest)}."
    short = _short(plain)
    return f"I need help with {_lowered(short)}." if short else ""


def _occasion(how: str, rest: str) -> str:
    somebody = _SOMEBODY.match(rest)
    if somebody:
        wanted = _short(rest[somebody.end() :])
        return f"I want to {wanted}." if somebody["to"] == "to" else f"I need {wanted}."
    short = _short(rest)
    if not short:
        return ""
    if how == "to":
        return f"I want to {short}."
    if re.match(r"(?!any|some|every|no)\w+ing\b", short):
        return f"I am {_lowered(short)}."
    if how == "for":
        return f"It is for {_lowered(short)}."
    return f"{short[:1].upper()}{short[1:]}."


def _as_need_in_chinese(text: str) -> str:
    plain = re.sub(r"^(?:本技能|该技能|这个技能|适用于|用于|用来|可以|能够|能|当)", "", text)
    clause = next((part for part in re.split(r"[，、,]", plain) if len(part) > 1), plain)
    return f"我想{clause[:_LONGEST_SIGNS]}。"


def base_form(verb: str) -> str:
    """`compute` for `computes`; the word itself where it is no third person."""
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch")):
        if verb.endswith(ending):
            return verb.removesuffix(ending) + instead
    if verb.endswith(("xes", "zes")) and verb.removesuffix("es") in _BASE:
        return verb.removesuffix("es")
    return verb.removesuffix("s") if verb.endswith("s") and not verb.endswith("ss") else verb


def _short(text: str) -> str:
    words = text.split()[:_LONGEST]
    return _DANGLING.sub("", " ".join(words)).strip(" ,.:;-–—")


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:] if text[:2].istitle() else text
