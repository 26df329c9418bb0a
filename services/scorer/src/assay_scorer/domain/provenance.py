"""Where installed packages come from: declared, needed by what is declared, or neither."""

from collections.abc import Iterable, Sequence

from assay_contracts.reports import InstalledPackage, UnmetDependency
from assay_contracts.runs import Package
from assay_contracts.skills import Dependencies
from assay_scorer.domain.requirements import Key, Requirement, declared, key_of, needs


def installed(
    dependencies: Dependencies, before: Sequence[Package], after: Sequence[Package]
) -> tuple[InstalledPackage, ...]:
    """What came, or came at another version, each with where it comes from.

    What a declared package needs, and what that needs, is known from what the packages say of
    themselves, with the extras that are asked for.
    """
    wanted = list(declared(dependencies))
    named = {requirement.key for requirement in wanted}
    needed_by = Needs(after).pulled_in(wanted)
    had = {(key_of(package), package.version) for package in before}
    versions = {key_of(package): package.version for package in before}
    return tuple(
        InstalledPackage(
            ecosystem=package.ecosystem,
            package=package.name,
            version=package.version,
            version_before=versions.get(key),
            origin="declared"
            if key in named
            else "pulled_in"
            if key in needed_by
            else "undeclared",
            needed_by=tuple(sorted(needed_by.get(key, ()))),
        )
        for package in after
        if ((key := key_of(package)), package.version) not in had
    )


def removed(before: Sequence[Package], after: Sequence[Package]) -> tuple[Package, ...]:
    """What was there and is gone, whatever its version."""
    has = {key_of(package) for package in after}
    return tuple(package for package in before if key_of(package) not in has)


def unmet(dependencies: Dependencies, after: Sequence[Package]) -> tuple[UnmetDependency, ...]:
    """What is declared and not there, or there at no version that will do."""
    versions: dict[Key, list[str]] = {}
    for package in after:
        versions.setdefault(key_of(package), []).append(package.version)
    return tuple(
        UnmetDependency(
            ecosystem=requirement.key[0],
            requirement=requirement.written,
            installed_version=next(iter(versions.get(requirement.key, ())), None),
        )
        for requirement in declared(dependencies)
        if not requirement.conditional
        and not any(requirement.allows(version) for version in versions.get(requirement.key, ()))
    )


class Needs:
    """Which packages lead to which, by what they say of themselves."""

    def __init__(self, packages: Iterable[Package]) -> None:
        self._of: dict[Key, list[Package]] = {}
        for package in packages:
            if package.requires:
                self._of.setdefault(key_of(package), []).append(package)

    def pulled_in(self, wanted: Iterable[Requirement]) -> dict[Key, set[str]]:
        """What these requirements lead to, each with the packages that need it."""
        needed_by: dict[Key, set[str]] = {}
        seen: set[tuple[Key, str | None]] = set()
        open_ends = [(each.key, extra) for each in wanted for extra in (None, *each.extras)]
        while open_ends:
            end = open_ends.pop()
            if end in seen:
                continue
            seen.add(end)
            key, extra = end
            for package in self._of.get(key, ()):
                for need in needs(package):
                    if need.only_for == extra:
                        needed_by.setdefault(need.key, set()).add(package.name)
                        open_ends += [(need.key, each) for each in (None, *need.extras)]
        return needed_by

    def reached(self, dependencies: Dependencies) -> frozenset[Key]:
        """What these dependencies name, and what that leads to."""
        wanted = list(declared(dependencies))
        return frozenset((*(each.key for each in wanted), *self.pulled_in(wanted)))
