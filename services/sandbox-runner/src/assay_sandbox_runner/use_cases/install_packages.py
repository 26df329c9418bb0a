from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from assay_contracts.runs import Ecosystem, Package
from assay_sandbox_runner.domain.package_managers import PackageManager
from assay_sandbox_runner.domain.text import clip
from assay_sandboxes.port import Sandbox

_REASON_CHARS: Final = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPackages:
    """Have exact versions of packages installed in a sandbox."""

    managers: Mapping[Ecosystem, PackageManager]

    async def __call__(self, sandbox: Sandbox, packages: Sequence[Package]) -> str | None:
        """None, or what the installer said when it could not.

        Raises:
            SandboxUnavailable: the sandbox was lost.
        """
        for ecosystem, manager in self.managers.items():
            wanted = [package for package in packages if package.ecosystem == ecosystem]
            if not wanted:
                continue
            result = await sandbox.execute(manager.install(wanted))
            if result.exit_code != 0:
                said = clip(result.output.strip(), _REASON_CHARS).text
                return said or f"exit code {result.exit_code}"
        return None
