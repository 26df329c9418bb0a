"""The commands by which package managers install packages and tell which versions there are. Pure.

What skills bring along as wheels is found too, as it is by those skills themselves.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from assay_contracts.runs import Ecosystem, Package

_AVAILABLE: Final = re.compile(r"^Available versions: (.+)$", re.MULTILINE)


class PackageManager(Protocol):
    """How to speak to one ecosystem's package manager, as shell commands."""

    def install(self, packages: Sequence[Package]) -> str:
        """The command that installs exactly these."""

    def install_declared(self, requirements: Sequence[str]) -> str:
        """The command that installs what these ask for, as declared."""

    def list_versions(self, name: str) -> str:
        """The command that tells which versions of a package there are."""

    def versions_in(self, printed: str) -> Sequence[str]:
        """The versions that this command printed, newest first; none where it told of none."""


@dataclass(frozen=True, slots=True)
class Pip:
    skills: str
    """Folder below which wheels may lie."""

    _OPTIONS = "--no-input --disable-pip-version-check --retries 0 --timeout 5"
    _PATIENT = "--no-input --disable-pip-version-check --quiet --retries 1 --timeout 15"

    def install(self, packages: Sequence[Package]) -> str:
        wanted = shlex.join(f"{package.name}=={package.version}" for package in packages)
        return f"{self._with_wheels()} install {self._OPTIONS} {wanted}"

    def install_declared(self, requirements: Sequence[str]) -> str:
        # Options of its own would follow a `--`; what could be one is no requirement.
        wanted = shlex.join(each for each in requirements if not each.startswith("-"))
        return f"{self._with_wheels()} install {self._PATIENT} {wanted}"

    def list_versions(self, name: str) -> str:
        return f"{self._with_wheels()} index versions {self._OPTIONS} {shlex.quote(name)}"

    def versions_in(self, printed: str) -> Sequence[str]:
        found = _AVAILABLE.search(printed)
        return [version.strip() for version in found[1].split(",")] if found else ()

    def _with_wheels(self) -> str:
        return (
            f"find {self.skills} -name '*.whl' -printf '%h\\0' | sort -zu "
            "| sed -z 's/^/--find-links=/' | xargs -0 python3 -m pip"
        )


@dataclass(frozen=True, slots=True)
class Npm:
    _OPTIONS = "--fetch-retries=0 --fetch-timeout=5000"
    _PATIENT = "--no-progress --fetch-retries=1 --fetch-timeout=15000"

    def install(self, packages: Sequence[Package]) -> str:
        wanted = shlex.join(f"{package.name}@{package.version}" for package in packages)
        return f"npm install --global {self._OPTIONS} {wanted}"

    def install_declared(self, requirements: Sequence[str]) -> str:
        return f"npm install --global {self._PATIENT} -- {shlex.join(requirements)}"

    def list_versions(self, name: str) -> str:
        return f"npm view {self._OPTIONS} --json {shlex.quote(name)} versions"

    def versions_in(self, printed: str) -> Sequence[str]:
        try:
            versions = json.loads(printed)
        except ValueError:
            return ()
        if isinstance(versions, str):  # the one version there is
            return (versions,)
        if not isinstance(versions, list):
            return ()
        return [str(version) for version in reversed(versions)]


def package_managers(*, skills: str) -> Mapping[Ecosystem, PackageManager]:
    """Those that can install something into a sandbox, in the order in which they are asked.

    Args:
        skills: Folder of the skills inside the sandbox.
    """
    return {"pip": Pip(skills), "npm": Npm()}
