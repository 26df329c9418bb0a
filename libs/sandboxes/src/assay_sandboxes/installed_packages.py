"""What is installed, from what the program inside lists."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from packaging.markers import Marker, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement

from assay_contracts.runs import Package
from assay_sandboxes.guest.package_inventory import STATUS, Entry, system_packages
from assay_sandboxes.port import SandboxUnavailable


def parse_inventory(raw: bytes) -> set[Package]:
    """The packages that the program inside listed.

    Raises:
        SandboxUnavailable: it did not list any.
    """
    try:
        answer = json.loads(raw)
        return set(_packages(answer["packages"], answer["interpreter"]))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SandboxUnavailable(f"cannot list the installed packages: {error}") from error


@cache
def machine_packages(status: str = STATUS) -> frozenset[Package]:
    """The machine's own packages, which every sandbox sees; none where it keeps no list."""
    return frozenset(_packages(system_packages(status), {}))


def in_order(packages: Iterable[Package]) -> tuple[Package, ...]:
    return tuple(sorted(packages, key=lambda p: (p.ecosystem, p.name.lower(), p.version)))


def _packages(entries: Iterable[Entry], interpreter: Mapping[str, str]) -> Iterator[Package]:
    for ecosystem, name, version, needs, place in entries:
        yield Package.model_validate(
            {
                "ecosystem": ecosystem,
                "name": name,
                "version": version,
                "requires": tuple(applying(needs, interpreter)) if ecosystem == "pip" else needs,
                "place": place,
            }
        )


def applying(needs: Iterable[str], interpreter: Mapping[str, str]) -> Iterator[str]:
    """The requirements that apply to this interpreter; of conditions, only extras are left."""
    for need in needs:
        parsed = _parsed(need)
        if parsed is None:
            continue
        requirement, extras = parsed
        if requirement.marker is None or _holds(requirement.marker, interpreter, ""):
            yield _without_marker(requirement)
            continue
        for extra in extras:
            if _holds(requirement.marker, interpreter, extra):
                yield f'{_without_marker(requirement)}; extra == "{extra}"'


@cache
def _parsed(need: str) -> tuple[Requirement, tuple[str, ...]] | None:
    try:
        requirement = Requirement(need)
    except InvalidRequirement:
        return None
    return requirement, tuple(dict.fromkeys(_extras_in(requirement.marker)))


def _extras_in(marker: Marker | None) -> Iterator[str]:
    """The extras that a condition asks for."""
    words = str(marker or "").replace("(", " ").replace(")", " ").split()
    for left, comparison, right in zip(words, words[1:], words[2:], strict=False):
        if left == "extra" and comparison == "==":
            yield right.strip("\"'")


def _holds(marker: Marker, interpreter: Mapping[str, str], extra: str) -> bool:
    try:
        return marker.evaluate({**interpreter, "extra": extra})
    except UndefinedEnvironmentName:
        return False


def _without_marker(requirement: Requirement) -> str:
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{requirement.name}{extras}{requirement.specifier}"
