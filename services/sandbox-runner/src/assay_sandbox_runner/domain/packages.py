"""What changed among the packages that a run found and left. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from packaging.utils import canonicalize_name

from assay_contracts.runs import Ecosystem, Package
from assay_contracts.skills import Dependencies

_NAME: Final = re.compile(r"@?[A-Za-z0-9][\w.+-]*(?:/[\w.-]+)?")

Key = tuple[Ecosystem, str]


def keep_relevant_requirements(
    before: Sequence[Package], after: Sequence[Package]
) -> tuple[tuple[Package, ...], tuple[Package, ...]]:
    """Both lists, with requirements only where they lead to a package that changed.

    A message is bounded, and the requirements of a whole machine's packages are not: those that
    lead nowhere new explain nothing.
    """
    leading = _leading_to(changed_packages(before, after), [*before, *after])
    return _with_requirements_of(leading, before), _with_requirements_of(leading, after)


def replaced_packages(before: Sequence[Package], after: Sequence[Package]) -> list[Package]:
    """The packages that were there and are there now at another version, in a stable order."""
    had = {key_of(package) for package in before}
    has = {key_of(package): package for package in after}
    return [has[key] for key in sorted(changed_packages(before, after) & had & has.keys())]


def changed_packages(before: Sequence[Package], after: Sequence[Package]) -> frozenset[Key]:
    """The packages that came, went, or are at another version."""
    had, has = ({(key_of(p), p.version) for p in packages} for packages in (before, after))
    return frozenset(key for key, _ in had ^ has)


def declared_names(dependencies: Dependencies) -> frozenset[str]:
    """What a skill's requirements name, spelled as packages are known by."""
    declared: tuple[tuple[Ecosystem, tuple[str, ...]], ...] = (
        ("pip", dependencies.pip),
        ("npm", dependencies.npm),
    )
    return frozenset(
        _normalised(ecosystem, found[0])
        for ecosystem, requirements in declared
        for requirement in requirements
        if (found := _NAME.match(requirement))
    )


def key_of(package: Package) -> Key:
    return package.ecosystem, _normalised(package.ecosystem, package.name)


def _leading_to(targets: frozenset[Key], packages: Sequence[Package]) -> frozenset[Key]:
    """The packages that require one of these, directly or through others, and these too."""
    if not targets:  # the usual case, and a machine has many packages
        return targets
    needed_by: dict[Key, set[Key]] = {}
    for package in packages:
        for need in package.requires:
            if found := _NAME.match(need):
                needed = package.ecosystem, _normalised(package.ecosystem, found[0])
                needed_by.setdefault(needed, set()).add(key_of(package))
    leading, fresh = set(targets), set(targets)
    while fresh:
        fresh = {user for key in fresh for user in needed_by.get(key, ())} - leading
        leading |= fresh
    return frozenset(leading)


def _with_requirements_of(
    leading: frozenset[Key], packages: Sequence[Package]
) -> tuple[Package, ...]:
    return tuple(
        package
        if key_of(package) in leading or not package.requires
        else package.model_copy(update={"requires": ()})
        for package in packages
    )


def _normalised(ecosystem: Ecosystem, name: str) -> str:
    return canonicalize_name(name) if ecosystem == "pip" else name
