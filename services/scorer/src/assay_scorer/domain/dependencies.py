"""Which package changes in an environment explain that a skill no longer works there."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from assay_contracts.reports import DependencyChange
from assay_contracts.runs import Ecosystem, Package
from assay_contracts.skills import Dependencies

_NAME: Final = re.compile(r"@?[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?")
_RUNS_OF_SEPARATORS: Final = re.compile(r"[-_.]+")

Key = tuple[Ecosystem, str]


def version_changes(
    before: Sequence[Package], after: Sequence[Package]
) -> tuple[tuple[Package, Package | None], ...]:
    """What was installed before and is now at another version, or gone: (old, new)."""
    now = {_key(package): package for package in after}
    return tuple(
        (old, now.get(_key(old)))
        for old in before
        if _key(old) not in now or now[_key(old)].version != old.version
    )


def explanations(
    broken: Dependencies,
    before: Sequence[Package],
    after: Sequence[Package],
    declared_by: Iterable[tuple[str, Dependencies]],
) -> tuple[DependencyChange, ...]:
    """The changes of packages that a broken skill declares, each with everyone who declares it.

    What a skill uses without declaring it cannot be told from what it has nothing to do with.
    """
    users = [(name, declared(dependencies)) for name, dependencies in declared_by]
    needed = declared(broken)
    return tuple(
        DependencyChange(
            ecosystem=old.ecosystem,
            package=old.name,
            old_version=old.version,
            new_version=new.version if new else None,
            used_by=tuple(name for name, keys in users if _key(old) in keys),
            suggested_constraint=_pinned(old),
        )
        for old, new in version_changes(before, after)
        if _key(old) in needed
    )


def declared(dependencies: Dependencies) -> frozenset[Key]:
    """The packages that requirements are about, whatever versions they allow."""
    written: tuple[tuple[Ecosystem, tuple[str, ...]], ...] = (
        ("pip", dependencies.pip),
        ("npm", dependencies.npm),
        ("system", dependencies.other),
    )
    return frozenset(
        (ecosystem, _normalised(ecosystem, found[0]))
        for ecosystem, requirements in written
        for requirement in requirements
        if (found := _NAME.match(requirement.strip()))
    )


def _key(package: Package) -> Key:
    return package.ecosystem, _normalised(package.ecosystem, package.name)


def _normalised(ecosystem: Ecosystem, name: str) -> str:
    # Python's own rule: case and the kind of separator do not matter.
    return _RUNS_OF_SEPARATORS.sub("-", name).lower() if ecosystem == "pip" else name


def _pinned(package: Package) -> str:
    """What keeps the version that the approved skills were tested with."""
    sign = {"pip": "==", "npm": "@", "system": "="}[package.ecosystem]
    return f"{package.name}{sign}{package.version}"
