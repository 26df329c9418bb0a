"""Control groups of either version, which this machine may not have."""

import os
from pathlib import Path

from assay_sandboxes.bubblewrap.host.memory_group import (
    make_memory_group,
    remove_abandoned_groups,
)


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
