"""What the skill declares against what was installed, and what other skills make of it."""

from collections.abc import Iterator

from assay_contracts.reports import (
    DependencyConflict,
    DependencyReport,
    InstalledPackage,
    MendingReport,
    Report,
)
from assay_contracts.skills import Dependencies
from assay_reporting.markdown.layout import table
from assay_reporting.markdown.packages import packages_listed
from assay_reporting.text import quoted
from assay_reporting.view import NOTHING, version_text


def dependencies(report: Report) -> str:
    declared, found = _declared(report.dependencies), report.dependency_report
    if found is None:
        return f"## Dependencies\n\nDeclared: {declared}."
    checked = f"Checked: {found.mode}. Declared: {declared}."
    return "\n\n".join(("## Dependencies", checked, *_changes(found), *_clashes(found)))


def _declared(declared: Dependencies) -> str:
    every = (*declared.pip, *declared.npm, *declared.other)
    return ", ".join(quoted(requirement, 100) for requirement in every) or "none"


def _changes(found: DependencyReport) -> Iterator[str]:
    if found.installed:
        yield table(("installed", "before", "after", "why"), map(_installed, found.installed))
    else:
        yield "Nothing was installed while the tasks were done."
    undeclared = [package for package in found.installed if package.origin == "undeclared"]
    if undeclared:
        named = ", ".join(f"{quoted(each.package)} {quoted(each.version)}" for each in undeclared)
        yield (
            f"**Not declared:** {named}. Nothing that the skill declares needs them: declare them, "
            "or do not install them."
        )
    if found.removed:
        yield f"**Removed:** {packages_listed(found.removed)}."
    if found.unmet:
        named = ", ".join(
            f"{quoted(each.requirement, 100)} (has: {quoted(version_text(each.installed_version))})"
            for each in found.unmet
        )
        yield f"**Declared, and not so after the tasks:** {named}."


def _installed(package: InstalledPackage) -> tuple[str, ...]:
    why = {
        "declared": "declared",
        "pulled_in": f"needed by {quoted(', '.join(package.needed_by))}",
        "undeclared": "**not declared**",
    }[package.origin]
    return (
        f"{quoted(package.package)} ({package.ecosystem})",
        quoted(package.version_before or NOTHING),
        quoted(package.version),
        why,
    )


def _clashes(found: DependencyReport) -> Iterator[str]:
    yield from map(_conflict, found.conflicts)
    if found.mending is not None:
        yield _mending(found.mending)


def _conflict(conflict: DependencyConflict) -> str:
    asked = "; ".join(
        f"{quoted(ask.by)} asks for {quoted(ask.constraint, 100)}" for ask in conflict.asked
    )
    resolved = (
        f"{quoted(conflict.resolved_version)} would do for all"
        if conflict.resolved_version
        else "no known version will do for all"
    )
    return (
        f"**Conflict over {quoted(conflict.package)} ({conflict.ecosystem}):** "
        f"{quoted(version_text(conflict.version_before))} before, "
        f"{quoted(version_text(conflict.version_after))} after; {asked}; {resolved}. Needed by "
        f"{quoted(', '.join(conflict.skills), 1000)}. "
        f"Suggested: {quoted(conflict.suggested_constraint, 200)}"
    )


def _mending(mending: MendingReport) -> str:
    outcome = (
        "and all of them work: this environment was kept."
        if mending.succeeded
        else f"which did not help: {quoted(mending.detail, 500)}. It was undone."
    )
    tested = quoted(", ".join(mending.retested), 1000) or "nobody"
    return (
        f"**Tried to mend it:** {packages_listed(mending.installed)} installed instead, because of "
        f"{quoted('; '.join(mending.broken), 1000)}. Tested again: {tested}; {outcome}"
    )
