"""What is installed, from what is listed."""

from pathlib import Path

import pytest

from assay_contracts.runs import Package
from assay_sandboxes.installed_packages import machine_packages, parse_inventory
from assay_sandboxes.port import SandboxUnavailable


def test_packages_of_the_machine_are_those_it_has_installed(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text(
        "Package: here\nStatus: install ok installed\nVersion: 1:2-3\nDescription: a\n b: c\n"
        "Depends: mailer | other (>= 1), gone, libc:any\nRecommends: liked\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n"
        "Package: post\nStatus: install ok installed\nVersion: 1\nProvides: mailer (= 1)\n\n"
        "Package: libc\nStatus: install ok installed\nVersion: 2\n\n"
        "Package: liked\nStatus: install ok installed\nVersion: 3\n\n"
    )
    packages = {package.name: package for package in machine_packages(str(status))}
    assert packages.keys() == {"here", "post", "libc", "liked"}
    assert packages["here"] == Package(
        ecosystem="system", name="here", version="1:2-3", requires=("libc", "liked", "post")
    )
    assert machine_packages(str(tmp_path / "none")) == frozenset()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[]",
        b'{"packages": [["cargo", "a", "1", []]], "interpreter": {}}',
        b'{"packages": [1], "interpreter": {}}',
    ],
)
def test_an_inventory_that_makes_no_sense_is_the_platforms_failure(raw: bytes) -> None:
    with pytest.raises(SandboxUnavailable, match="installed packages"):
        parse_inventory(raw)
