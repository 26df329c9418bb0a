"""What a rule is, and how it speaks of the hostile names it meets."""

from dataclasses import dataclass
from typing import Literal

from assay_contracts.skills import Finding, Severity

Area = Literal["archive", "skill"]
"""`archive`: the file cannot be trusted or read. `skill`: it can, but what it holds is wrong."""

MAX_SHOWN = 160


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


def shown(text: str) -> str:
    """`text` with everything invisible escaped and its middle left out when it is long."""
    visible = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:1000]
    )
    if len(visible) <= MAX_SHOWN and len(text) <= 1000:  # noqa: PLR2004 - as sliced above
        return visible
    half = MAX_SHOWN // 2 - 2
    tail = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[-half:]
    )
    return f"{visible[:half]}...{tail[-half:]}"
