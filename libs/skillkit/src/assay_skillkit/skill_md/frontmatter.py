"""The YAML at the top of SKILL.md, read as the reference library reads it, with line numbers."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import strictyaml  # type: ignore[import-untyped]  # it has no types

from assay_contracts.skills import Finding
from assay_skillkit.limits import LIMITS, Limits
from assay_skillkit.rules import skill as rules
from assay_skillkit.show import shown
from assay_skillkit.skill_md.plain_yaml import Value, read_plain_yaml

SPEC_KEYS: Final = frozenset(
    {"name", "description", "license", "allowed-tools", "metadata", "compatibility"}
)
COMMON_KEYS: Final = frozenset({"dependencies", "tags", "version"})
"""What the specification does not know and skills carry all the same, to everybody's good."""

_FENCE: Final = re.compile(r"^---[ \t]*$", re.MULTILINE)
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_NOT_READABLE: Final = "The frontmatter cannot be read as YAML"
_MOST_BRACKETS: Final = 500
"""The YAML reader takes quadratic time in nested brackets."""
_CommentedMap: Final = strictyaml.ruamel.comments.CommentedMap
_CommentedSeq: Final = strictyaml.ruamel.comments.CommentedSeq
_WITHOUT_BRACKETS, _WITH_BRACKETS = (
    type(
        "Loader",
        (strictyaml.parser.StrictYAMLLoader,),
        {"label": "SKILL.md", "allow_flow_style": allowed},
    )
    for allowed in (False, True)
)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    values: dict[str, Value]
    lines: dict[str, int]
    """Where each top-level key stands, counted from 1."""
    flow: tuple[str, ...]
    """The keys that have brackets in their value, which strict YAML refuses."""


@dataclass(frozen=True, slots=True)
class SplitSkillMd:
    """SKILL.md in its two parts; `yaml` is None where it cannot be told apart."""

    yaml: str | None
    body: str
    body_line: int
    """The line of SKILL.md on which `body` starts."""
    finding: Finding | None = None


def split_frontmatter(text: str, path: str) -> SplitSkillMd:
    """Split SKILL.md at its fences. Only a line that is `---` and nothing else closes it."""
    if not text.startswith("---"):
        finding = rules.FRONTMATTER_MISSING.at("SKILL.md does not start with `---`.", path, 1)
        return SplitSkillMd(None, text, 1, finding)
    closing = _FENCE.search(text, text.find("\n") + 1) if "\n" in text else None
    if closing is None:
        finding = rules.FRONTMATTER_NOT_CLOSED.at(
            "The frontmatter has no closing line `---`.", path, 1
        )
        return SplitSkillMd(None, "", 1, finding)
    body = text[closing.end() :]
    return SplitSkillMd(text[3 : closing.start()], body, text.count("\n", 0, closing.end()) + 1)


def read_frontmatter(yaml: str, path: str, limits: Limits = LIMITS) -> Frontmatter | Finding:
    """Read frontmatter. Every scalar is text, as the specification's strict YAML has it.

    Brackets (`[a, b]`, `{a: b}`), which strict YAML refuses, are read under keys that the
    specification does not know, since those keys are only warned about.
    """
    if len(yaml) > limits.frontmatter:
        return rules.FRONTMATTER_TOO_LARGE.at(
            f"The frontmatter has {len(yaml):,} characters; {limits.frontmatter:,} is the most.",
            path,
        )
    if odd := _UNPRINTABLE.search(yaml):
        return rules.SKILL_MD_CONTROL.at(
            f"The frontmatter holds the character U+{ord(odd[0]):04X}.",
            path,
            yaml.count("\n", 0, odd.start()) + 1,
        )
    if plain := read_plain_yaml(yaml):
        values, lines = plain
        return Frontmatter(values, lines, ())
    try:
        document = _load(yaml)
    except strictyaml.YAMLError as error:
        return _yaml_finding(error, path)
    except RecursionError:
        return rules.FRONTMATTER_YAML.at("The frontmatter is nested too deeply.", path)
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError):
        # The reader trips over its own feet on some input (an escape beyond Unicode, an odd merge).
        return rules.FRONTMATTER_YAML.at(f"{_NOT_READABLE}.", path)
    if not isinstance(document, _CommentedMap):
        return rules.FRONTMATTER_NOT_A_MAPPING.at(
            "The frontmatter is not made of `key: value` lines.", path, 1
        )
    return Frontmatter(
        {str(key): _plain(value) for key, value in document.items()},
        {str(key): document.lc.key(key)[0] + 1 for key in document},
        tuple(str(key) for key, value in document.items() if _has_flow(value)),
    )


def _load(yaml: str) -> object:
    try:
        return strictyaml.ruamel.load(yaml, Loader=_WITHOUT_BRACKETS)
    except strictyaml.exceptions.FlowMappingDisallowed as refused:
        if yaml.count("[") + yaml.count("{") > _MOST_BRACKETS:
            raise
        document = strictyaml.ruamel.load(yaml, Loader=_WITH_BRACKETS)
        if not isinstance(document, _CommentedMap) or _has_flow_in_spec_keys(document):
            raise refused from None
        return document


def _has_flow_in_spec_keys(document: object) -> bool:
    assert isinstance(document, _CommentedMap)
    return bool(document.fa.flow_style()) or any(
        _has_flow(value) for key, value in document.items() if str(key) in SPEC_KEYS
    )


def _has_flow(value: object) -> bool:
    if isinstance(value, _CommentedMap):
        return bool(value.fa.flow_style()) or any(map(_has_flow, value.values()))
    if isinstance(value, _CommentedSeq):
        return bool(value.fa.flow_style()) or any(map(_has_flow, value))
    return False


def _plain(value: object) -> Value:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return "" if value is None else str(value)


_PROBLEMS: Final = (
    ("JSONesque", "A value has brackets or braces without quotes around it"),
    ("node anchor", "A value begins with `&` or `*`, which mean something else in YAML"),
    ("tag token", "A value begins with `!`, which means something else in YAML"),
    ("alias", "A value begins with `&` or `*`, which mean something else in YAML"),
    ("anchor", "A value begins with `&` or `*`, which mean something else in YAML"),
    ("uplicate key", "A key stands there twice"),
    ("mapping values are not allowed", "A value holds `: ` and has no quotes around it"),
    ("unexpected end of stream", "A quotation mark is opened and never closed"),
    ("unexpected document separator", "A quotation mark is opened and never closed"),
    ("'\\t'", "A tab stands where YAML takes only spaces"),
    ("cannot start any token", "A value begins with a character that YAML keeps for itself"),
    ("expected ':'", "A line has no `: ` between its key and its value"),
    ("unknown escape", "A value in double quotes holds a backslash that YAML cannot read"),
    ("expected <block end>", "A line is indented unlike its neighbours, or goes on behind a quote"),
    ("<stream end>", "A line is indented unlike its neighbours, or goes on behind a quote"),
)
"""What the YAML reader says, as far as it is known by a piece of it, in words for people."""


def _yaml_finding(error: Exception, path: str) -> Finding:
    said = f"{getattr(error, 'context', '')} {getattr(error, 'problem', '')} {error}"
    problem = next((words for piece, words in _PROBLEMS if piece in said), _NOT_READABLE)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = None if mark is None else mark.line + 1
    return rules.FRONTMATTER_YAML.at(f"{problem}.", path, line)


def unsafe_values(found: Frontmatter, path: str) -> Iterator[Finding]:
    """Values that an escape made into something no database or terminal should be given."""
    for key, value in found.values.items():
        if any(_is_unsafe(text) for text in (key, *_texts(value))):
            yield rules.FRONTMATTER_CONTROL.at(
                f"`{shown(key)}` holds a control character.", path, found.lines[key]
            )


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        return
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value:
        yield from _texts(inner)


def _is_unsafe(text: str) -> bool:
    return not text.isprintable() and any(
        unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t\x85" for c in text
    )
