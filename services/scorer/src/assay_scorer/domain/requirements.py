"""Requirements as skills and packages write them: which package, which versions, on what terms."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import nodesemver
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as PipRequirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from assay_contracts.runs import Ecosystem, Package
from assay_contracts.skills import Dependencies

Key = tuple[Ecosystem, str]

_NAME: Final = re.compile(r"@?[A-Za-z0-9][\w.+-]*(?:/[\w.-]+)?")
_EGG: Final = re.compile(r"[#&]egg=([\w.-]+)")
_EXTRA: Final = re.compile(r"""extra == ["']([^"']+)["']""")
_RANGE: Final = re.compile(r"[\s\w.*+^~<>=|-]*")
_NPM_TAGS: Final = frozenset({"", "latest", "next"})
_SYSTEM_MANAGERS: Final = frozenset({"system", "apt", "apt-get", "deb", "debian", "dpkg", "ubuntu"})
_CACHED: Final = 20_000
_LONGEST_VERSION: Final = 256
"""Characters, as for npm itself."""
_LONGEST: Final = 1000
"""Characters of a requirement or a constraint. What is longer is not looked into: sandboxes tell
what they like, and parsers take long over it, or too deep."""


@dataclass(frozen=True, slots=True)
class Requirement:
    key: Key
    written: str
    constraint: str = ""
    """Versions that will do, in the ecosystem's own notation; empty where any will."""
    extras: frozenset[str] = frozenset()
    """Optional parts of the package that are wanted."""
    only_for: str | None = None
    """The extra of the package that needs this, without which it does not."""
    conditional: bool = False
    """It may not apply here, and whether it does cannot be told from outside the sandbox."""

    def allows(self, version: str) -> bool:
        """Whether that version will do; yes where the two cannot be compared."""
        return allows(self.key[0], self.constraint, version)


def key_of(package: Package) -> Key:
    return package.ecosystem, _normalised(package.ecosystem, package.name)


def declared(dependencies: Dependencies) -> Iterator[Requirement]:
    """What a skill declares, as far as it names packages."""
    written: tuple[tuple[Ecosystem, tuple[str, ...]], ...] = (
        ("pip", dependencies.pip),
        ("npm", dependencies.npm),
        ("system", tuple(_of_the_system(dependencies.other))),
    )
    for ecosystem, requirements in written:
        for text in requirements:
            if requirement := parsed(ecosystem, text):
                yield requirement


def needs(package: Package) -> Iterator[Requirement]:
    """What a package says it needs."""
    for text in package.requires:
        if requirement := parsed(package.ecosystem, text):
            yield requirement


@lru_cache(maxsize=_CACHED)
def parsed(ecosystem: Ecosystem, text: str) -> Requirement | None:
    """None where no package is named, or at too great length."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if ecosystem == "pip":
        return _of_pip(text)
    found = _NAME.match(text)
    if found is None:
        return None
    constraint = text[found.end() :].strip().removeprefix("@") if ecosystem == "npm" else ""
    if constraint in _NPM_TAGS or not _RANGE.fullmatch(constraint):
        constraint = ""
    return Requirement((ecosystem, found[0]), text, constraint)


def _of_pip(text: str) -> Requirement | None:
    try:
        requirement = PipRequirement(text)
        marker = str(requirement.marker or "")
    except (InvalidRequirement, RecursionError):
        name = _named_by_place(text)
        return Requirement(("pip", canonicalize_name(name)), text) if name else None
    extra = _EXTRA.search(marker)
    return Requirement(
        key=("pip", canonicalize_name(requirement.name)),
        written=text,
        constraint=str(requirement.specifier),
        extras=frozenset(canonicalize_name(each) for each in requirement.extras),
        only_for=canonicalize_name(extra[1]) if extra else None,
        conditional=bool(marker),
    )


def _named_by_place(text: str) -> str | None:
    """The package that an address or a path speaks of, or a requirement that is not well formed."""
    try:
        return parse_wheel_filename(re.split(r"[/\\]", text.partition("#")[0].strip())[-1])[0]
    except ValueError:  # of a number with too many digits, besides its own
        pass
    found = _EGG.search(text)
    if found:
        return found[1]
    named = _NAME.match(text)
    return None if named is None or "/" in text else named[0]


def _of_the_system(other: tuple[str, ...]) -> Iterator[str]:
    for text in other:
        manager, colon, package = text.partition(":")
        if not colon:
            yield text
        elif manager.strip().lower() in _SYSTEM_MANAGERS:
            yield package


@lru_cache(maxsize=_CACHED)
def allows(ecosystem: Ecosystem, constraint: str, version: str) -> bool:
    """Whether a version meets a constraint; yes where they cannot be compared, as for the system's.

    For pip by the rules of Python's packaging, for npm by those of its semantic versions.
    """
    if not constraint or ecosystem == "system":
        return True
    if len(constraint) > _LONGEST or len(version) > _LONGEST_VERSION:
        return True
    try:
        if ecosystem == "pip":
            return SpecifierSet(constraint).contains(Version(version), prereleases=True)
        if not nodesemver.valid(version, loose=True) or not _is_range(constraint):
            return True
        return bool(nodesemver.satisfies(version, constraint, loose=True))
    except ValueError:
        return True


def _is_range(constraint: str) -> bool:
    try:
        return bool(nodesemver.valid_range(constraint, loose=True))
    except (ValueError, AttributeError):
        return False


@lru_cache(maxsize=_CACHED)
def rank(ecosystem: Ecosystem, version: str) -> tuple[bool, Version, str]:
    """By which versions of one package are put in order; what is no version comes first."""
    try:
        number = Version(version.replace("+", "-") if ecosystem == "npm" else version)
    except ValueError:
        return False, Version("0"), version
    return True, number, version


def _normalised(ecosystem: Ecosystem, name: str) -> str:
    # Python's own rule: case and the kind of separator do not matter.
    return canonicalize_name(name) if ecosystem == "pip" else name
