"""All rules by their code: what a report or a linter needs to explain a finding."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from assay_ingest.domain import archive_rules, skill_rules
from assay_ingest.domain.rule import Rule

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        rule.code: rule
        for module in (archive_rules, skill_rules)
        for rule in vars(module).values()
        if isinstance(rule, Rule)
    }
)
