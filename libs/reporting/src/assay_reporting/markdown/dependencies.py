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
from assay_reporting.language import phrase
from assay_reporting.markdown.layout import table
from assay_reporting.markdown.packages import packages_listed
from assay_reporting.text import quoted
from assay_reporting.view import NOTHING, version_text


def dependencies(report: Report) -> str:
    declared, found = _declared(report.dependencies), report.dependency_report
    title = f"## {phrase('Dependencies')}"
    if found is None:
        return f"{title}\n\n{phrase('Declared: {declared}.', declared=declared)}"
    checked = phrase(
        "Checked: {mode}. Declared: {declared}.", mode=phrase(found.mode), declared=declared
    )
    return "\n\n".join((title, checked, *_changes(found), *_clashes(found)))


def _declared(declared: Dependencies) -> str:
    every = (*declared.pip, *declared.npm, *declared.other)
    return ", ".join(quoted(requirement, 100) for requirement in every) or phrase("none")


def _changes(found: DependencyReport) -> Iterator[str]:
    if found.installed:
        columns = (phrase("installed"), phrase("before"), phrase("after"), phrase("why"))
        yield table(columns, map(_installed, found.installed))
    else:
        yield phrase("Nothing was installed while the tasks were done.")
    undeclared = [package for package in found.installed if package.origin == "undeclared"]
    if undeclared:
        named = ", ".join(f"{quoted(each.package)} {quoted(each.version)}" for each in undeclared)
        yield phrase(
            "**Not declared:** {packages}. Nothing that the skill declares needs them: declare "
            "them, or do not install them.",
            packages=named,
        )
    if found.removed:
        yield phrase("**Removed:** {packages}.", packages=packages_listed(found.removed))
    if found.unmet:
        named = ", ".join(
            phrase(
                "{requirement} (has: {version})",
                requirement=quoted(each.requirement, 100),
                version=quoted(version_text(each.installed_version)),
            )
            for each in found.unmet
        )
        yield phrase("**Declared, and not so after the tasks:** {packages}.", packages=named)


def _installed(package: InstalledPackage) -> tuple[str, ...]:
    why = {
        "declared": phrase("declared"),
        "pulled_in": phrase("needed by {packages}", packages=quoted(", ".join(package.needed_by))),
        "undeclared": f"**{phrase('not declared')}**",
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
        phrase(
            "{who} asks for {constraint}",
            who=quoted(ask.by),
            constraint=quoted(ask.constraint, 100),
        )
        for ask in conflict.asked
    )
    resolved = (
        phrase("{version} would do for all", version=quoted(conflict.resolved_version))
        if conflict.resolved_version
        else phrase("no known version will do for all")
    )
    return phrase(
        "**Conflict over {package}:** {before} before, {after} after; {asked}; {resolved}. "
        "Needed by {skills}. Suggested: {constraint}",
        package=f"{quoted(conflict.package)} ({conflict.ecosystem})",
        before=quoted(version_text(conflict.version_before)),
        after=quoted(version_text(conflict.version_after)),
        asked=asked,
        resolved=resolved,
        skills=quoted(", ".join(conflict.skills), 1000),
        constraint=quoted(conflict.suggested_constraint, 200),
    )


def _mending(mending: MendingReport) -> str:
    outcome = (
        phrase("and all of them work: this environment was kept.")
        if mending.succeeded
        else phrase("which did not help: {why}. It was undone.", why=quoted(mending.detail, 500))
    )
    return phrase(
        "**Tried to mend it:** {packages} installed instead, because of {broken}. "
        "Tested again: {skills}; {outcome}",
        packages=packages_listed(mending.installed),
        broken=quoted("; ".join(mending.broken), 1000),
        skills=quoted(", ".join(mending.retested), 1000) or phrase("nobody"),
        outcome=outcome,
    )
