"""SKILL.md: its text, its fields and its body, each checked against the specification.

Equal to the reference library `skills-ref`, except where that crashes or misreads; the decision
record on reading SKILL.md lists the differences.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from assay_contracts.skills import Finding
from assay_skillkit.file_names import SKILL_MD
from assay_skillkit.json_size import first_within
from assay_skillkit.limits import LIMITS, Limits
from assay_skillkit.names import name_problems, normal_name
from assay_skillkit.rules import skill as rules
from assay_skillkit.show import shown
from assay_skillkit.skill_md.frontmatter import (
    COMMON_KEYS,
    SPEC_KEYS,
    Frontmatter,
    read_frontmatter,
    split_frontmatter,
    unsafe_values,
)
from assay_skillkit.skill_md.plain_yaml import Value

MAX_DESCRIPTION: Final = 1024
MAX_COMPATIBILITY: Final = 500
MAX_BODY_LINES: Final = 500
MAX_OTHER_FIELDS: Final = 32 * 1024
"""Bytes kept of what the specification does not know."""

_HIDDEN: Final = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillMd:
    """SKILL.md as read. A field that is wrong or missing is empty here and named in `findings`."""

    findings: tuple[Finding, ...]
    name: str = ""
    description: str = ""
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: str | None = None
    metadata: dict[str, str]
    other_fields: dict[str, str] = field(default_factory=dict)
    dependencies: Value | None = None
    dependencies_line: int | None = None
    body: str = ""
    body_line: int = 1

    @property
    def body_lines(self) -> int:
        return len(self.body.strip().splitlines())


def read_skill_md(data: bytes, *, folder: str | None, limits: Limits = LIMITS) -> SkillMd:
    """Read and check SKILL.md. Never raises for anything it holds.

    Args:
        data: The whole file.
        folder: The name of the folder it lies in; None when that says nothing (an archive's root).
        limits: How much it may hold.
    """
    findings: list[Finding] = []
    text = _decoded(data, findings, limits)
    if text is None:
        return SkillMd(findings=tuple(findings), metadata={})
    split = split_frontmatter(text, SKILL_MD)
    found = split.finding if split.yaml is None else read_frontmatter(split.yaml, SKILL_MD, limits)
    if not isinstance(found, Frontmatter):
        if found is not None:
            findings.append(found)
        return SkillMd(
            findings=tuple(findings), metadata={}, body=split.body, body_line=split.body_line
        )
    findings.extend(_key_problems(found))
    findings.extend(unsafe_values(found, SKILL_MD))
    findings.extend(_name_problems(found, folder))
    findings.extend(_description_problems(found))
    findings.extend(_compatibility_problems(found))
    findings.extend(_shape_problems(found))
    findings.extend(_body_problems(split.body, split.body_line))
    return _read(found, split.body, split.body_line, tuple(findings))


def _decoded(data: bytes, findings: list[Finding], limits: Limits) -> str | None:
    if len(data) > limits.skill_md:
        findings.append(
            rules.SKILL_MD_TOO_LARGE.at(
                f"SKILL.md is larger than {limits.skill_md:,} bytes.", SKILL_MD
            )
        )
        return None
    if data.startswith(_UTF16_MARKS):
        findings.append(rules.SKILL_MD_ENCODING.at("SKILL.md is UTF-16 text.", SKILL_MD, 1))
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        findings.append(
            rules.SKILL_MD_ENCODING.at(
                f"SKILL.md is not UTF-8: byte 0x{data[error.start]:02x} has no meaning there.",
                SKILL_MD,
                line,
            )
        )
        return None
    return _without_odd_characters(text, findings)


def _without_odd_characters(text: str, findings: list[Finding]) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("\ufeff"):
        findings.append(
            rules.SKILL_MD_BOM.at("SKILL.md starts with a byte order mark.", SKILL_MD, 1)
        )
        text = text[1:]
    if (at := text.find("\0")) >= 0:
        line = text.count("\n", 0, at) + 1
        findings.append(rules.SKILL_MD_CONTROL.at("SKILL.md holds a NUL.", SKILL_MD, line))
        text = text.replace("\0", " ")
    if hidden := _HIDDEN.search(text):
        findings.append(
            rules.SKILL_MD_HIDDEN_TEXT.at(
                f"SKILL.md holds U+{ord(hidden[0]):04X}, which hides or reorders text.",
                SKILL_MD,
                text.count("\n", 0, hidden.start()) + 1,
            )
        )
    return text


def _key_problems(found: Frontmatter) -> Iterator[Finding]:
    for key in found.values:
        if key not in SPEC_KEYS and key not in COMMON_KEYS:
            yield rules.UNKNOWN_KEY.at(
                f"`{shown(key)}` is no field of the specification.", SKILL_MD, found.lines[key]
            )
    for key in found.flow:
        yield rules.FLOW_STYLE.at(
            f"`{shown(key)}` uses brackets, which strict YAML refuses.", SKILL_MD, found.lines[key]
        )


def _name_problems(found: Frontmatter, folder: str | None) -> Iterator[Finding]:
    value, line = found.values.get("name"), found.lines.get("name")
    if value is None:
        yield rules.NAME_MISSING.at("The frontmatter has no `name`.", SKILL_MD, 1)
        return
    if not isinstance(value, str) or not value.strip():
        yield rules.NAME_EMPTY.at("`name` is empty or not text.", SKILL_MD, line)
        return
    name = normal_name(value)
    for rule, message in name_problems(name):
        yield rule.at(message, SKILL_MD, line)
    if folder is not None and normal_name(folder) != name:
        yield rules.NAME_FOLDER.at(
            f"The name `{shown(name)}` differs from the folder's, `{shown(folder)}`.",
            SKILL_MD,
            line,
        )


def _description_problems(found: Frontmatter) -> Iterator[Finding]:
    value, line = found.values.get("description"), found.lines.get("description")
    if value is None:
        yield rules.DESCRIPTION_MISSING.at("The frontmatter has no `description`.", SKILL_MD, 1)
    elif not isinstance(value, str) or not value.strip():
        yield rules.DESCRIPTION_EMPTY.at("`description` is empty or not text.", SKILL_MD, line)
    elif len(value) > MAX_DESCRIPTION:
        yield rules.DESCRIPTION_TOO_LONG.at(
            f"`description` has {len(value):,} characters; {MAX_DESCRIPTION:,} is the most.",
            SKILL_MD,
            line,
        )


def _compatibility_problems(found: Frontmatter) -> Iterator[Finding]:
    value, line = found.values.get("compatibility"), found.lines.get("compatibility")
    if value is None:
        return
    if not isinstance(value, str):
        yield rules.COMPATIBILITY_NOT_TEXT.at("`compatibility` is not text.", SKILL_MD, line)
    elif len(value) > MAX_COMPATIBILITY:
        yield rules.COMPATIBILITY_TOO_LONG.at(
            f"`compatibility` has {len(value):,} characters; {MAX_COMPATIBILITY} is the most.",
            SKILL_MD,
            line,
        )
    elif not value.strip():
        yield rules.COMPATIBILITY_EMPTY.at("`compatibility` is empty.", SKILL_MD, line)


def _shape_problems(found: Frontmatter) -> Iterator[Finding]:
    """What the specification describes and the reference library lets pass."""
    values, lines = found.values, found.lines
    if not isinstance(values.get("license", ""), str):
        yield rules.LICENSE_NOT_TEXT.at("`license` is not text.", SKILL_MD, lines["license"])
    if not isinstance(values.get("allowed-tools", ""), str):
        yield rules.ALLOWED_TOOLS_NOT_TEXT.at(
            "`allowed-tools` is not text.", SKILL_MD, lines["allowed-tools"]
        )
    metadata = values.get("metadata", {})
    if not isinstance(metadata, dict):
        yield rules.METADATA_NOT_A_MAPPING.at(
            "`metadata` is not made of `key: value` lines.", SKILL_MD, lines["metadata"]
        )
    elif any(not isinstance(value, str) for value in metadata.values()):
        yield rules.METADATA_NESTED.at(
            "`metadata` holds lists or mappings, which readers see as text.",
            SKILL_MD,
            lines["metadata"],
        )


def _body_problems(body: str, line: int) -> Iterator[Finding]:
    length = len(body.strip().splitlines())
    if not length:
        yield rules.BODY_EMPTY.at(
            "SKILL.md has no instructions below its frontmatter.", SKILL_MD, line
        )
    elif length > MAX_BODY_LINES:
        yield rules.BODY_TOO_LONG.at(
            f"The body has {length:,} lines; more than {MAX_BODY_LINES} crowd an agent's context.",
            SKILL_MD,
            line,
        )


def _read(found: Frontmatter, body: str, line: int, findings: tuple[Finding, ...]) -> SkillMd:
    values = found.values
    metadata = values.get("metadata", {})
    return SkillMd(
        findings=findings,
        name=normal_name(_as_text(values.get("name", ""))),
        description=_as_text(values.get("description", "")).strip(),
        license=_optional(values.get("license")),
        compatibility=_optional(values.get("compatibility")),
        allowed_tools=_optional(values.get("allowed-tools")),
        metadata=(
            {key: _as_text(value) for key, value in metadata.items()}
            if isinstance(metadata, dict)
            else {}
        ),
        other_fields=_other_fields(values),
        dependencies=values.get("dependencies"),
        dependencies_line=found.lines.get("dependencies"),
        body=body,
        body_line=line,
    )


def _other_fields(values: dict[str, Value]) -> dict[str, str]:
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in values.items()
        if key not in SPEC_KEYS
    }
    kept = len(list(first_within((key + text for key, text in texts.items()), MAX_OTHER_FIELDS)))
    return dict(islice(texts.items(), kept))


def _optional(value: Value | None) -> str | None:
    return None if value is None else _as_text(value).strip()


def _as_text(value: Value) -> str:
    if isinstance(value, str):
        return value
    texts = [item for item in value if isinstance(item, str)]
    return " ".join(texts) if isinstance(value, list) and len(texts) == len(value) else str(value)
