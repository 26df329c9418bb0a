from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from assay_contracts.runs import Ecosystem, Package
from assay_sandbox_runner.domain.package_managers import PackageManager
from assay_sandbox_runner.domain.packages import replaced_packages
from assay_sandboxes.port import Sandbox

_ANSWER_S: Final = 20.0
_MOST_PACKAGES: Final = 5
_MOST_VERSIONS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class FindOtherVersions:
    """Ask which versions there are of packages that a run replaced by another version."""

    managers: Mapping[Ecosystem, PackageManager]

    async def __call__(
        self, sandbox: Sandbox, before: Sequence[Package], after: Sequence[Package]
    ) -> tuple[Package, ...]:
        """Newest first, package by package; nothing of those that nobody can tell of.

        Only where something was replaced, which is rare: asking takes a while.

        Raises:
            SandboxUnavailable: the sandbox was lost.
        """
        found: list[Package] = []
        for package in islice(replaced_packages(before, after), _MOST_PACKAGES):
            versions = await self._versions_of(package, sandbox)
            found += (
                Package(ecosystem=package.ecosystem, name=package.name, version=version)
                for version in islice(versions, _MOST_VERSIONS)
            )
        return tuple(found)

    async def _versions_of(self, package: Package, sandbox: Sandbox) -> Sequence[str]:
        manager = self.managers.get(package.ecosystem)
        if manager is None:
            return ()
        answer = await sandbox.execute(manager.list_versions(package.name), timeout_s=_ANSWER_S)
        return manager.versions_in(answer.stdout) if answer.exit_code == 0 else ()
