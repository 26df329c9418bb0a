"""The program that lays a remote sandbox out, and clears away before a snapshot is taken.

Apart from what runs commands, because what it imports is slow to import.
"""

from __future__ import annotations

import os
import shutil
import tarfile

from assay_sandboxes.guest import command_runner, fast_files, survey
from assay_sandboxes.guest.answers import FOLDER, answer_once, serve, write_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from assay_sandboxes.guest.answers import Answer
    from assay_sandboxes.remote.guest_requests import PrepareRequest

_INCOMING = "/opt/assay/incoming"
_WORKSPACE = "/workspace"
_SKILLS = "/workspace/skills"
_HOME = "/home/agent"
_LAY_OUT_S = 60.0
_FOR_EVERYONE_TO_READ = 0o555
_FOR_EVERYONE_TO_FILL = 0o1777
"""Everyone may make files there; nobody may move what is not theirs."""


def _prepare(request: PrepareRequest) -> Answer:
    for folder in (_WORKSPACE, _HOME, FOLDER):
        fast_files.make_folders(folder)
    fast_files.set_rights(FOLDER, 0o700)
    return answer_once(
        "prepare-" + request["token"], _LAY_OUT_S, lambda mine: _lay_out(request, mine)
    )


def _lay_out(request: PrepareRequest, mine: str) -> None:
    """Have the skills that are wanted, an empty workspace, and what is ours to ourselves."""
    root = os.geteuid() == 0
    for name in fast_files.names_in(FOLDER):
        if f"{FOLDER}/{name}" != mine:
            shutil.rmtree(f"{FOLDER}/{name}")
    _empty(_WORKSPACE, keep=("skills",))
    shutil.rmtree(_INCOMING, ignore_errors=True)
    with tarfile.open(request["archive"]) as archive:
        archive.extractall(_INCOMING)  # noqa: S202  # packed by the runner
    fast_files.remove(request["archive"])
    _take_skills(_INCOMING + "/skills", request["skills"], root=root)
    shutil.rmtree(_INCOMING)
    if root:
        os.chown(_WORKSPACE, 0, 0)
        fast_files.set_rights(_WORKSPACE, _FOR_EVERYONE_TO_FILL)
        os.chown(_HOME, request["uid"], request["gid"])
    write_answer(mine, {})


def _take_skills(incoming: str, wanted: dict[str, str], *, root: bool) -> None:
    """Have the skills that are wanted and no others."""
    if fast_files.is_link(_SKILLS):
        fast_files.remove(_SKILLS)
    if fast_files.is_folder(_SKILLS):
        fast_files.set_rights(_SKILLS, 0o700)
    fast_files.make_folders(_SKILLS)
    for name in fast_files.names_in(_SKILLS):
        path = f"{_SKILLS}/{name}"
        new = fast_files.is_folder(f"{incoming}/{name}")
        if fast_files.is_link(path) or not fast_files.is_folder(path):
            fast_files.remove(path)
        elif new or name not in wanted:
            _remove_tree(path)
    for name in fast_files.names_in(incoming) if fast_files.is_folder(incoming) else []:
        shutil.move(f"{incoming}/{name}", f"{_SKILLS}/{name}")
    _make_read_only(_SKILLS, root=root)
    have = {name: survey.tree_digest(f"{_SKILLS}/{name}") for name in fast_files.names_in(_SKILLS)}
    if have != wanted:
        raise OSError("the skills are not those that were sent")


def _remove_tree(folder: str) -> None:
    for path, _, _ in os.walk(folder):
        fast_files.set_rights(path, 0o700)
    shutil.rmtree(folder)


def _make_read_only(folder: str, *, root: bool) -> None:
    for path, _, names in os.walk(folder, topdown=False):
        for name in names:
            where = f"{path}/{name}"
            if root:
                os.chown(where, 0, 0)
            runs = fast_files.rights_of(where) & 0o100
            fast_files.set_rights(where, _FOR_EVERYONE_TO_READ if runs else 0o444)
        if root:
            os.chown(path, 0, 0)
        fast_files.set_rights(path, _FOR_EVERYONE_TO_READ)


def _quiesce(_: object) -> Answer:
    """End all that commands left running, and remove what an environment does not have."""
    for name in fast_files.names_in(FOLDER):
        command_runner.cancel(f"{FOLDER}/{name}")
    _empty(_WORKSPACE, keep=("skills",))
    shutil.rmtree(FOLDER)
    fast_files.make_folder(FOLDER, 0o700)
    _empty(fast_files.TEMPORARY, keep=())
    return {}


def _empty(folder: str, *, keep: tuple[str, ...]) -> None:
    for entry in os.scandir(folder):
        if entry.name in keep:
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                fast_files.remove(entry.path)
        except OSError:
            continue  # somebody else's; what is ours can be removed


def main() -> None:
    serve({"prepare": _prepare, "quiesce": _quiesce})
