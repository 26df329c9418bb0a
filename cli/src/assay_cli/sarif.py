"""Findings as SARIF 2.1.0, which code review tools show beside the lines they are about."""

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import quote

from assay_contracts.skills import Finding
from assay_skillkit.file_names import SKILL_MD
from assay_skillkit.rules import RULES
from assay_skillkit.rules.rule import Rule

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_INDEX: Final = {code: index for index, code in enumerate(RULES)}


def sarif_log(source: Path, findings: Iterable[Finding]) -> dict[str, object]:
    """A log with one run: every rule there is, and what was found at `source`."""
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "assay",
                        "semanticVersion": version("assay-cli"),
                        "rules": [_rule(rule) for rule in RULES.values()],
                    }
                },
                "results": [_result(source, finding) for finding in findings],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.code.replace("-", " ").capitalize() + "."},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": [rule.area]},
    }


def _result(source: Path, finding: Finding) -> dict[str, object]:
    return {
        "ruleId": finding.code,
        "ruleIndex": _INDEX[finding.code],
        "level": finding.severity,
        "message": {"text": f"{finding.message} {finding.fix}"},
        "locations": [_location(source, finding)],
    }


def _location(source: Path, finding: Finding) -> dict[str, object]:
    if not source.is_dir():
        # A viewer can open the archive, but not what is inside: that is a logical place.
        inside = [] if finding.path is None else [{"fullyQualifiedName": finding.path}]
        return {
            "physicalLocation": {"artifactLocation": {"uri": _uri(source)}},
            **({"logicalLocations": inside} if inside else {}),
        }
    # A finding about the skill as a whole is shown at its main file.
    path = source / (finding.path or SKILL_MD)
    place: dict[str, object] = {"artifactLocation": {"uri": _uri(path)}}
    if finding.line is not None:
        place["region"] = {"startLine": finding.line}
    return {"physicalLocation": place}


def _uri(path: Path) -> str:
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
