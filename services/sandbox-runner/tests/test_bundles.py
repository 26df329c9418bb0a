"""Skills on disk: fetched once, whole or not at all, and gone when nobody needs them."""

import fcntl
import io
import os
import time
import zipfile
from pathlib import Path

import pytest

from assay_contracts.runs import MountedSkill
from assay_sandbox_runner.adapters.bundles import BundlesOnDisk
from assay_sandbox_runner.ports import StoreFailed
from assay_testkit.runner import MANUAL, SCRIPT, Store

DAY_S = 24 * 3600


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def bundles(store: Store, tmp_path: Path) -> BundlesOnDisk:
    return BundlesOnDisk(store, tmp_path)


def aged(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


async def test_each_skill_has_the_folder_we_name(bundles: BundlesOnDisk, store: Store) -> None:
    skill = store.add_skill()
    renamed = MountedSkill(name="other-name", bundle=skill.bundle)

    async with bundles.mounted([skill, renamed]) as mounted:
        assert mounted.files == {
            "word-counter": {"SKILL.md", "scripts/count.py"},
            "other-name": {"SKILL.md", "scripts/count.py"},
        }
        for name in mounted.files:
            folder = mounted.folder / name
            assert (folder / "SKILL.md").read_text() == MANUAL
            assert (folder / "scripts/count.py").read_text() == SCRIPT
            assert os.access(folder / "scripts/count.py", os.X_OK)
            assert not (folder / "SKILL.md").stat().st_mode & 0o111

    assert not mounted.folder.exists()


async def test_bundle_is_fetched_once(bundles: BundlesOnDisk, store: Store) -> None:
    skill = store.add_skill()

    for _ in range(2):
        async with bundles.mounted([skill]):
            pass

    assert store.reads == [skill.bundle.key]


async def test_run_cannot_spoil_the_next_by_its_folder(
    bundles: BundlesOnDisk, store: Store
) -> None:
    skill = store.add_skill()

    async with bundles.mounted([skill]) as mounted:
        (mounted.folder / "word-counter" / "SKILL.md").unlink()
    async with bundles.mounted([skill]) as mounted:
        assert (mounted.folder / "word-counter" / "SKILL.md").read_text() == MANUAL


@pytest.mark.parametrize(
    "name", ["../evil", "a/b", "", "Upper", ".hidden", "a b", "-a", "données-csv\u0301", "ｃｓｖ"]
)
async def test_name_that_is_no_folder_of_a_skill_is_refused(
    bundles: BundlesOnDisk, store: Store, name: str
) -> None:
    skill = store.add_skill()

    with pytest.raises(ValueError, match="is no skill's name"):
        async with bundles.mounted([MountedSkill(name=name, bundle=skill.bundle)]):
            pass


async def test_entry_that_leaves_its_folder_is_refused(
    bundles: BundlesOnDisk, store: Store, tmp_path: Path
) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("evil/SKILL.md", MANUAL)
        archive.writestr("evil/../../escaped", "x")
    skill = store.add_bundle("evil", target.getvalue())

    with pytest.raises(StoreFailed, match="leads out of the folder"):
        async with bundles.mounted([skill]):
            pass

    assert list((tmp_path / "bundles").iterdir()) == []
    assert not (tmp_path / "escaped").exists()


async def test_bundle_that_is_no_zip_is_refused(bundles: BundlesOnDisk, store: Store) -> None:
    skill = store.add_bundle("odd", b"not a zip")

    with pytest.raises(StoreFailed, match="is no readable zip"):
        async with bundles.mounted([skill]):
            pass


async def test_sweep_leaves_what_is_in_use(bundles: BundlesOnDisk, store: Store) -> None:
    async with bundles.mounted([store.add_skill()]) as mounted:
        aged(mounted.folder, DAY_S)

        assert bundles.sweep() == []
        assert mounted.folder.is_dir()


async def test_sweep_removes_what_a_dead_process_left(
    bundles: BundlesOnDisk, tmp_path: Path
) -> None:
    abandoned, young, locked = (tmp_path / "mounts" / name for name in ("old", "young", "locked"))
    for folder in (abandoned, young, locked):
        folder.mkdir(parents=True)
    aged(abandoned, 3600)
    aged(locked, 3600)
    handle = os.open(locked, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)

        assert bundles.sweep() == ["old"]
    finally:
        os.close(handle)
    assert sorted(path.name for path in (tmp_path / "mounts").iterdir()) == ["locked", "young"]


async def test_sweep_removes_bundles_long_unused(
    bundles: BundlesOnDisk, store: Store, tmp_path: Path
) -> None:
    stale, fresh = store.add_skill(), store.add_skill("other", MANUAL + "more\n")
    async with bundles.mounted([stale, fresh]):
        pass
    aged(tmp_path / "bundles" / stale.bundle.sha256, 2 * DAY_S)

    assert bundles.sweep() == [stale.bundle.sha256]
    async with bundles.mounted([stale]) as mounted:
        assert (mounted.folder / "word-counter" / "SKILL.md").is_file()
