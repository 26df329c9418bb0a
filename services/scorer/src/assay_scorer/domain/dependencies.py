"""Which package changes in an environment explain that a skill no longer works there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.reports import DependencyChange
from assay_contracts.runs import Ecosystem, Package
from assay_contracts.skills import Dependencies
from assay_scorer.domain.provenance import Needs
from assay_scorer.domain.requirements import Key, key_of

_EQUALS: Final[dict[Ecosystem, str]] = {"pip": "==", "npm": "@", "system": "="}


@dataclass(frozen=True, slots=True)
class PackageChanges:
    """The packages that a run left otherwise than it found them, and who needs them."""

    changes: tuple[tuple[Package, Package | None], ...]
    """What was there, and what is there now if anything is."""
    users: Mapping[str, frozenset[Key]]
    """For each skill, the packages that it declares and those that they lead to."""

    def explaining(self, skill: str) -> tuple[DependencyChange, ...]:
        """The changes that can be why this skill no longer works.

        What a skill uses without declaring it cannot be told from what it has nothing to do with.
        """
        return tuple(
            DependencyChange(
                ecosystem=old.ecosystem,
                package=old.name,
                old_version=old.version,
                new_version=new.version if new else None,
                used_by=tuple(name for name, keys in self.users.items() if key_of(old) in keys),
                suggested_constraint=pinned(old.ecosystem, old.name, old.version),
            )
            for old, new in self.changes
            if key_of(old) in self.users[skill]
        )


def package_changes(
    before: Sequence[Package], after: Sequence[Package], skills: Mapping[str, Dependencies]
) -> PackageChanges:
    """What changed, for these skills."""
    needs = Needs([*before, *after])
    return PackageChanges(
        changes=version_changes(before, after),
        users={name: needs.reached(dependencies) for name, dependencies in skills.items()},
    )


def version_changes(
    before: Sequence[Package], after: Sequence[Package]
) -> tuple[tuple[Package, Package | None], ...]:
    """What was installed before and is now at another version, or gone: (old, new)."""
    now: dict[Key, list[Package]] = {}
    for package in after:
        now.setdefault(key_of(package), []).append(package)
    return tuple(
        (old, next(reversed(now.get(key_of(old), [])), None))
        for old in before
        if all(new.version != old.version for new in now.get(key_of(old), ()))
    )


def pinned(ecosystem: Ecosystem, package: str, version: str) -> str:
    """The requirement that only this version meets."""
    return f"{package}{_EQUALS[ecosystem]}{version}"
