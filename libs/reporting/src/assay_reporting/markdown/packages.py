"""Packages in one line."""

from collections.abc import Sequence

from assay_contracts.runs import Package
from assay_reporting.language import phrase
from assay_reporting.text import quoted


def packages_listed(packages: Sequence[Package]) -> str:
    named = (f"{quoted(p.name)} {quoted(p.version)} ({p.ecosystem})" for p in packages)
    return ", ".join(dict.fromkeys(named)) or phrase("none")
