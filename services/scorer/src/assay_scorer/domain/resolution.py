"""Versions that everybody can live with: the union of what skills ask for, resolved.

Only versions that are known can be chosen; of a package of which none is known, any would do.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from resolvelib import AbstractProvider, BaseReporter, ResolutionTooDeep, Resolver
from resolvelib.resolvers import ResolutionImpossible
from resolvelib.structs import RequirementInformation
from typing_extensions import override

from assay_contracts.runs import Package
from assay_scorer.domain.requirements import Key, Requirement, key_of, needs, rank

ROUNDS: Final = 2000


@dataclass(frozen=True, slots=True)
class Ask:
    """What somebody asks of a package."""

    by: str
    """A skill, or a package and its version."""
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class Choice:
    key: Key
    package: Package | None
    """None where no version is known."""


@dataclass(frozen=True, slots=True)
class Clash:
    """What is asked of one package that no known version meets."""

    key: Key
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    versions: Mapping[Key, Package]
    """For each package of which a version is known, one that meets all that is asked of it."""
    clashes: tuple[Clash, ...]


def resolve(
    asks: Sequence[Ask],
    known: Iterable[Package],
    *,
    preferred: Mapping[Key, str] | None = None,
    avoided: frozenset[tuple[Key, str]] = frozenset(),
) -> Resolution:
    """One version of each package for all who ask, or what clashes, package by package.

    Args:
        asks: What skills ask for; what the chosen packages need is asked for besides.
        known: The versions there are.
        preferred: Versions to take if they will do; else the newest is taken.
        avoided: Versions not to take.
    """
    pool: dict[Key, list[Package]] = {}
    for package in known:
        if (key_of(package), package.version) not in avoided:
            pool.setdefault(key_of(package), []).append(package)
    clashes: list[Clash] = []
    while True:
        aside = frozenset(clash.key for clash in clashes)
        provider = _Provider(asks, pool, preferred or {}, aside)
        open_asks = [ask for ask in asks if ask.requirement.key not in aside]
        try:
            result = Resolver(provider, BaseReporter()).resolve(open_asks, max_rounds=ROUNDS)
        except ResolutionImpossible as impossible:
            clashes += _clashes(impossible.causes)
        except ResolutionTooDeep:
            return Resolution({}, tuple(clashes))
        else:
            chosen = {key: choice.package for key, choice in result.mapping.items()}
            versions = {key: package for key, package in chosen.items() if package is not None}
            return Resolution(versions, tuple(clashes))


def _clashes(causes: Iterable[RequirementInformation[Ask, Choice]]) -> Iterator[Clash]:
    by_key: dict[Key, list[Ask]] = {}
    for cause in causes:
        by_key.setdefault(cause.requirement.requirement.key, []).append(cause.requirement)
    for key, asks in by_key.items():
        yield Clash(key, tuple(dict.fromkeys(asks)))


class _Provider(AbstractProvider[Ask, Choice, Key]):
    def __init__(
        self,
        asks: Sequence[Ask],
        pool: Mapping[Key, Sequence[Package]],
        preferred: Mapping[Key, str],
        aside: frozenset[Key],
    ) -> None:
        self._pool = pool
        self._preferred = preferred
        self._aside = aside
        self._extras = {(ask.requirement.key, extra) for ask in asks for extra in _extras(ask)}

    @override
    def identify(self, requirement_or_candidate: Ask | Choice) -> Key:
        if isinstance(requirement_or_candidate, Choice):
            return requirement_or_candidate.key
        return requirement_or_candidate.requirement.key

    @override
    def get_preference(
        self,
        identifier: Key,
        resolutions: Mapping[Key, Choice],
        candidates: Mapping[Key, Iterator[Choice]],
        information: Mapping[Key, Iterator[RequirementInformation[Ask, Choice]]],
        backtrack_causes: Sequence[RequirementInformation[Ask, Choice]],
    ) -> tuple[bool, Key]:
        blamed = any(cause.requirement.requirement.key == identifier for cause in backtrack_causes)
        return not blamed, identifier

    @override
    def find_matches(
        self,
        identifier: Key,
        requirements: Mapping[Key, Iterator[Ask]],
        incompatibilities: Mapping[Key, Iterator[Choice]],
    ) -> Sequence[Choice]:
        if identifier not in self._pool:
            return [Choice(identifier, None)]
        asks = list(requirements[identifier])
        ruled_out = {choice.package for choice in incompatibilities[identifier]}
        suitable = [
            package
            for package in self._pool[identifier]
            if package not in ruled_out
            and all(ask.requirement.allows(package.version) for ask in asks)
        ]
        preferred = self._preferred.get(identifier)
        suitable.sort(
            key=lambda p: (p.version == preferred, rank(p.ecosystem, p.version)), reverse=True
        )
        return [Choice(identifier, package) for package in suitable]

    @override
    def is_satisfied_by(self, requirement: Ask, candidate: Choice) -> bool:
        return candidate.package is None or requirement.requirement.allows(
            candidate.package.version
        )

    @override
    def get_dependencies(self, candidate: Choice) -> Iterable[Ask]:
        package = candidate.package
        if package is None:
            return
        for need in needs(package):
            wanted = need.only_for is None or (candidate.key, need.only_for) in self._extras
            if wanted and need.key not in self._aside:
                yield Ask(f"{package.name} {package.version}", need)


def _extras(ask: Ask) -> Iterable[str]:
    return ask.requirement.extras
