"""What is installed: read inside for Python and Node, on the machine for the system."""

import json
from functools import cache
from pathlib import Path
from typing import Final

from assay_contracts.runs import Package
from assay_sandbox_runner.ports import SandboxUnavailable

_DPKG: Final = Path("/var/lib/dpkg/status")


def parse_inventory(raw: bytes) -> set[Package]:
    """The packages that the program inside listed.

    Raises:
        SandboxUnavailable: it did not list any.
    """
    try:
        return {
            Package(ecosystem=ecosystem, name=name, version=version)
            for ecosystem, name, version in json.loads(raw)
        }
    except (ValueError, TypeError) as error:
        raise SandboxUnavailable(f"cannot list the installed packages: {error}") from error


@cache
def machine_packages(status: Path = _DPKG) -> frozenset[Package]:
    """The machine's own packages, which every sandbox sees; none where it keeps no list."""
    if not status.exists():
        return frozenset()
    packages = set()
    for paragraph in status.read_text(errors="replace").split("\n\n"):
        fields = dict(
            line.split(": ", 1)
            for line in paragraph.splitlines()
            if ": " in line[1:] and line[0] != " "
        )
        if fields.get("Status", "").endswith(" installed"):
            packages.add(
                Package(ecosystem="system", name=fields["Package"], version=fields["Version"])
            )
    return frozenset(packages)
