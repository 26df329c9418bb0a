"""Findings as SARIF 2.1.0, which code review tools show beside the lines they are about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Protocol
from urllib.parse import quote

from assay_contracts.skills import Finding, Severity

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


class FormatRule(Protocol):
    """One thing that the format check looks for."""

    @property
    def code(self) -> str: ...

    @property
    def area(self) -> str: ...

    @property
    def severity(self) -> Severity: ...

    @property
    def fix(self) -> str:
        """What to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSource:
    """What was checked, as it was named, and what was found there."""

    path: PurePath
    is_folder: bool
    """Else it is an archive."""
    main_file: str
    """In the folder; a finding about the skill as a whole is shown there."""
    findings: tuple[Finding, ...]


def render_sarif(
    sources: Iterable[CheckedSource], *, rules: Sequence[FormatRule], tool_version: str
) -> dict[str, object]:
    """A log with one run: every rule there is, and what was found at all `sources`."""
    index = {rule.code: position for position, rule in enumerate(rules)}
    driver = {
        "name": "assay",
        "semanticVersion": tool_version,
        "rules": [_rule(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "results": [
            _result(source, finding, index[finding.code])
            for source in sources
            for finding in source.findings
        ],
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: FormatRule) -> dict[str, object]:
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.code.replace("-", " ").capitalize() + "."},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": [rule.area]},
    }


def _result(source: CheckedSource, finding: Finding, rule_index: int) -> dict[str, object]:
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": finding.severity,
        "message": {"text": f"{finding.message} {finding.fix}"},
        "locations": [_location(source, finding)],
    }


def _location(source: CheckedSource, finding: Finding) -> dict[str, object]:
    if not source.is_folder:
        # A viewer can open the archive, but not what is inside: that is a logical place.
        inside = [] if finding.path is None else [{"fullyQualifiedName": finding.path}]
        return {
            "physicalLocation": {"artifactLocation": {"uri": _uri(source.path)}},
            **({"logicalLocations": inside} if inside else {}),
        }
    path = source.path / (finding.path or source.main_file)
    place: dict[str, object] = {"artifactLocation": {"uri": _uri(path)}}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line}
    return {"physicalLocation": place}


def _uri(path: PurePath) -> str:
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
