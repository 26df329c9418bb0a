"""Control groups of either version, which this machine may not have."""

import os
from pathlib import Path

import pytest

from assay_sandboxes.bubblewrap.host.memory_group import (
    make_memory_group,
    remove_abandoned_groups,
)


def test_a_group_is_made_where_the_machine_has_the_second_version(tmp_path: Path) -> None:
    group = make_memory_group("one", root=tmp_path)
    assert group is not None
    group.bound(1000)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory +cpu"
    assert (group.path / "memory.max").read_text() == "1000"
    assert (group.path / "memory.swap.max").read_text() == "0"
    assert group.files_to_join == [str(group.path / "cgroup.procs")]


def test_a_group_is_made_where_the_machine_has_the_first_version(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").touch()
    group = make_memory_group("one", root=tmp_path)
    assert group is not None
    group.bound(1000)
    assert (group.path / "memory.limit_in_bytes").read_text() == "1000"
    assert group.path.is_relative_to(tmp_path / "memory")
    weighed = tmp_path / "cpu" / "assay-sandboxes-one"
    (weighed / "cpu.shares").touch()
    assert group.files_to_join == [
        str(group.path / "cgroup.procs"),
        str(weighed / "cgroup.procs"),
    ]


@pytest.mark.parametrize("in_the_way", ["", "members", "no controller", "not ours"])
def test_an_ordinary_user_makes_groups_below_one_that_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_the_way: str
) -> None:
    """As systemd gives them out: the nearest that has the controllers and that nobody is in."""
    given = tmp_path / "user.slice" / "user@7.service"
    here = given / "app.slice" / "runner.service"
    here.mkdir(parents=True)
    for folder in (here, here.parent, given, given.parent):
        (folder / "cgroup.controllers").write_text("" if folder == here.parent else "cpu memory")
        (folder / "cgroup.procs").write_text("17\n" if folder == here else "")
    if in_the_way == "members":
        (given / "cgroup.procs").write_text("1\n")
    if in_the_way == "no controller":
        (given / "cgroup.controllers").write_text("pids")
    (tmp_path / "own").write_text(
        "1:name=systemd:/\n0::/user.slice/user@7.service/app.slice/runner.service\n"
    )
    ours = (here, given) if in_the_way != "not ours" else (here,)
    monkeypatch.setattr("os.geteuid", lambda: 7)
    monkeypatch.setattr(
        "os.access", lambda path, _: any(path in (each, each / "cgroup.procs") for each in ours)
    )
    group = make_memory_group("one", root=tmp_path, own=tmp_path / "own")
    if in_the_way:
        assert group is None
    else:
        assert group is not None
        assert group.path == given / "assay-sandboxes" / "one"


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
