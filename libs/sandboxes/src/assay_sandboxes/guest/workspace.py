"""Laying a sandbox of somebody else's out, and clearing away before a snapshot is taken."""

from __future__ import annotations

import os
import shutil
import tarfile

from assay_sandboxes.guest import command_runner, survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOT = "/opt/assay"
RUNS = ROOT + "/runs"
_WORKSPACE = "/workspace"
_SKILLS = "/workspace/skills"
_HOME = "/home/agent"


def _empty(folder: str, *, keep: tuple[str, ...]) -> None:
    for entry in os.scandir(folder):
        if entry.name in keep:
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)  # noqa: PTH108
        except OSError:
            continue  # somebody else's; what is ours can be removed


def _set_rights(folder: str, *, root: bool) -> None:
    for path, _, names in os.walk(folder, topdown=False):
        for name in names:
            where = path + "/" + name
            if root:
                os.chown(where, 0, 0)
            os.chmod(where, 0o555 if os.stat(where).st_mode & 0o100 else 0o444)  # noqa: PTH101, PTH116
        if root:
            os.chown(path, 0, 0)
        os.chmod(path, 0o555)  # noqa: PTH101, S103 - to be read, by commands too


def _remove_tree(folder: str) -> None:
    for path, _, _ in os.walk(folder):
        os.chmod(path, 0o700)  # noqa: PTH101
    shutil.rmtree(folder)


def _take_skills(incoming: str, wanted: dict[str, str], *, root: bool) -> None:
    """Have the skills that are wanted and no others."""
    if os.path.islink(_SKILLS):  # noqa: PTH114
        os.unlink(_SKILLS)  # noqa: PTH108
    if os.path.isdir(_SKILLS):  # noqa: PTH112
        os.chmod(_SKILLS, 0o700)  # noqa: PTH101
    os.makedirs(_SKILLS, exist_ok=True)  # noqa: PTH103
    for name in os.listdir(_SKILLS):  # noqa: PTH208
        path = _SKILLS + "/" + name
        new = os.path.isdir(incoming + "/" + name)  # noqa: PTH112
        if os.path.islink(path) or not os.path.isdir(path):  # noqa: PTH112, PTH114
            os.unlink(path)  # noqa: PTH108
        elif new or name not in wanted:
            _remove_tree(path)
    for name in os.listdir(incoming) if os.path.isdir(incoming) else []:  # noqa: PTH112, PTH208
        shutil.move(incoming + "/" + name, _SKILLS + "/" + name)
    _set_rights(_SKILLS, root=root)
    have = {name: survey.tree_digest(_SKILLS + "/" + name) for name in os.listdir(_SKILLS)}  # noqa: PTH208
    if have != wanted:
        raise OSError("the skills are not those that were sent")


def make_places() -> None:
    """Have the folders that everything else goes into."""
    for folder in (_WORKSPACE, _HOME, RUNS):
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    os.chmod(RUNS, 0o700)  # noqa: PTH101


def lay_out(request: dict[str, Any], mine: str) -> None:
    """Have the skills that are wanted, an empty workspace, and what is ours to ourselves."""
    root = os.geteuid() == 0
    for name in os.listdir(RUNS):  # noqa: PTH208
        if RUNS + "/" + name != mine:
            shutil.rmtree(RUNS + "/" + name)
    _empty(_WORKSPACE, keep=("skills",))
    incoming = ROOT + "/incoming"
    shutil.rmtree(incoming, ignore_errors=True)
    with tarfile.open(request["archive"]) as archive:
        archive.extractall(incoming)  # noqa: S202 - packed by the runner
    os.unlink(request["archive"])  # noqa: PTH108
    _take_skills(incoming + "/skills", request["skills"], root=root)
    shutil.rmtree(incoming)
    if root:
        # Everyone may make things in the workspace; nobody may move what is not theirs.
        os.chown(_WORKSPACE, 0, 0)
        os.chmod(_WORKSPACE, 0o1777)  # noqa: PTH101, S103
        os.chown(_HOME, request["uid"], request["gid"])
    command_runner.write_result(mine, "{}")


def clear_away() -> None:
    """End all that commands left running, and remove what an environment does not have."""
    for name in os.listdir(RUNS):  # noqa: PTH208
        command_runner.cancel(RUNS + "/" + name)
    _empty(_WORKSPACE, keep=("skills",))
    shutil.rmtree(RUNS)
    os.mkdir(RUNS, 0o700)  # noqa: PTH102
    _empty("/tmp", keep=())  # noqa: S108
