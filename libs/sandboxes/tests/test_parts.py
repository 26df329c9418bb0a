"""Parts of the bubblewrap adapter that this machine may not show in a sandbox."""

import os
from pathlib import Path

import pytest

from assay_contracts.runs import Package
from assay_sandboxes.bubblewrap.host.memory_group import (
    make_memory_group,
    remove_abandoned_groups,
)
from assay_sandboxes.installed_packages import machine_packages, parse_inventory
from assay_sandboxes.port import SandboxUnavailable


def test_a_group_is_made_where_the_machine_has_the_second_version(tmp_path: Path) -> None:
    group = make_memory_group("one", root=tmp_path)
    assert group is not None
    group.bound(1000)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory"
    assert (group.path / "memory.max").read_text() == "1000"
    assert (group.path / "memory.swap.max").read_text() == "0"
    assert group.processes == str(group.path / "cgroup.procs")


def test_a_group_is_made_where_the_machine_has_the_first_version(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").touch()
    group = make_memory_group("one", root=tmp_path)
    assert group is not None
    group.bound(1000)
    assert (group.path / "memory.limit_in_bytes").read_text() == "1000"
    assert group.path.is_relative_to(tmp_path / "memory")


def test_no_group_is_made_where_that_is_not_allowed(tmp_path: Path) -> None:
    assert make_memory_group("one", root=tmp_path / "none") is None


def test_a_sweep_removes_groups_that_are_old_and_empty(tmp_path: Path) -> None:
    parent = tmp_path / "assay-sandboxes"
    for name in ("old", "new", "in-use"):
        (parent / name).mkdir(parents=True)
    (parent / "in-use" / "member").touch()
    for name in ("old", "in-use"):
        os.utime(parent / name, (0, 0))
    remove_abandoned_groups(root=tmp_path)
    assert sorted(path.name for path in parent.iterdir()) == ["in-use", "new"]


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
