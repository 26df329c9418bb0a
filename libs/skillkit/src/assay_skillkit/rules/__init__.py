"""All rules by their code: what a report or a linter needs to explain a finding."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from assay_skillkit.rules import archive, skill
from assay_skillkit.rules.rule import Rule

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        rule.code: rule
        for module in (archive, skill)
        for rule in vars(module).values()
        if isinstance(rule, Rule)
    }
)
