"""Conflicts over packages between approved skills and the one under test."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay_contracts.reports import ConstraintAsked, DependencyConflict
from assay_contracts.runs import Package
from assay_contracts.skills import Dependencies
from assay_scorer.domain.dependencies import PackageChanges, pinned
from assay_scorer.domain.requirements import Key, declared, key_of
from assay_scorer.domain.resolution import Ask, Resolution, resolve


@dataclass(frozen=True, slots=True)
class Demands:
    """What every skill asks for, and the versions that are known."""

    skill: str
    """The one under test."""
    skills: Mapping[str, Dependencies]
    """Of all, the one under test included."""
    after: Sequence[Package]
    known: Sequence[Package]

    @property
    def asks(self) -> tuple[Ask, ...]:
        return tuple(
            Ask(skill, requirement)
            for skill, dependencies in self.skills.items()
            for requirement in declared(dependencies)
            if not requirement.conditional and requirement.key[0] != "system"
        )


def conflicts(demands: Demands, changes: PackageChanges) -> tuple[DependencyConflict, ...]:
    """The packages over which the one under test and approved skills cannot agree.

    Either no known version meets all that is asked, or one does and another is installed.
    System packages are left out: what skills say of their versions is in no notation of its own.
    """
    asks = demands.asks
    installed = {key_of(package): package for package in demands.after}
    current = {key: package.version for key, package in installed.items()}
    found = resolve(asks, demands.known, preferred=current)
    return tuple(
        _conflict(demands, changes, key, conflicting, found)
        for key, conflicting in _conflicting(asks, installed, found)
        if _concerns(demands.skill, key, changes)
    )


def _conflicting(
    asks: Sequence[Ask], installed: Mapping[Key, Package], found: Resolution
) -> Iterator[tuple[Key, tuple[Ask, ...]]]:
    for clash in found.clashes:
        yield clash.key, clash.asks
    for key, package in found.versions.items():
        there = installed.get(key)
        if there is None or there.version == package.version:
            continue
        about = tuple(ask for ask in asks if ask.requirement.key == key)
        if any(not ask.requirement.allows(there.version) for ask in about):
            yield key, about


def _concerns(skill: str, key: Key, changes: PackageChanges) -> bool:
    """Whether the one under test has to do with it: it needs the package, or changed it."""
    changed = (key_of(old) for old, _ in changes.changes)
    return key in changes.users[skill] or key in changed


def _conflict(
    demands: Demands,
    changes: PackageChanges,
    key: Key,
    asks: tuple[Ask, ...],
    found: Resolution,
) -> DependencyConflict:
    before = next((old for old, _ in changes.changes if key_of(old) == key), None)
    there = next((package for package in demands.after if key_of(package) == key), None)
    resolved = found.versions.get(key)
    name = (there or before or resolved or Package(ecosystem=key[0], name=key[1], version="")).name
    return DependencyConflict(
        ecosystem=key[0],
        package=name,
        version_before=before.version if before else there.version if there else None,
        version_after=there.version if there else None,
        asked=tuple(
            ConstraintAsked(by=ask.by, constraint=ask.requirement.constraint or "any")
            for ask in asks
        ),
        skills=tuple(skill for skill, keys in changes.users.items() if key in keys),
        resolved_version=resolved.version if resolved else None,
        suggested_constraint=_suggested(demands.skill, key, name, asks, before or there),
    )


def _suggested(
    skill: str, key: Key, name: str, asks: tuple[Ask, ...], tested: Package | None
) -> str:
    """What the one under test could ask for instead: what the others do, or what they had."""
    others = sorted(
        {
            ask.requirement.constraint
            for ask in asks
            if ask.by != skill and ask.requirement.constraint
        }
    )
    if others:
        return name + (",".join(others) if key[0] == "pip" else f"@{' '.join(others)}")
    return pinned(key[0], name, tested.version) if tested else name
