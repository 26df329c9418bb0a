"""What a rule is."""

from dataclasses import dataclass
from typing import Literal

from assay_contracts.skills import Finding, Severity
from assay_skillkit.show import shown

Area = Literal["archive", "skill"]
"""`archive`: the file cannot be trusted or read. `skill`: it can, but what it holds is wrong."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing the format check looks for. `code` never changes its meaning."""

    code: str
    area: Area
    severity: Severity
    fix: str

    def at(self, message: str, path: str | None = None, line: int | None = None) -> Finding:
        """The finding that says this rule was broken, safe to print and to send."""
        return Finding(
            code=self.code,
            severity=self.severity,
            message=message,
            fix=self.fix,
            path=None if path is None else shown(path),
            line=line,
        )
