"""Whatever a skill leaves on disk is removed, and nothing else is."""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay_sandboxes.bubblewrap.host.folders import remove_tree
from assay_sandboxes.bubblewrap.host.provider import BubblewrapProvider
from assay_sandboxes.conformance.under_test import ProviderUnderTest, python


def nest(folder: Path, depth: int, name: str = "d") -> None:
    """Folders in each other, deeper than any path can say."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def shut(folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").touch()
    (folder / "a" / "b").chmod(0)
    (folder / "a").chmod(0)


def wide(folder: Path) -> None:
    for number in range(2500):
        (folder / str(number)).touch()
    for number in range(50):
        (folder / f"folder-{number}" / "x").mkdir(parents=True)


def special(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("/")
    (folder / "circle").symlink_to(".")
    (folder / "dangling").symlink_to("nowhere")


@contextmanager
def few_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, before[1]))  # noqa: PTH208
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    "fill",
    [lambda folder: nest(folder, 5000), shut, wide, special],
    ids=["deep", "shut", "wide", "special"],
)
def test_a_tree_of_any_shape_is_removed(tmp_path: Path, fill: Callable[[Path], None]) -> None:
    tree, beside = tmp_path / "tree", tmp_path / "beside"
    for folder in (tree, beside):
        folder.mkdir()
    (beside / "kept").touch()
    (tree / "way-out").symlink_to(beside)
    fill(tree)
    with few_descriptors():
        remove_tree(tree)
    assert not tree.exists()
    assert (beside / "kept").exists()
    remove_tree(tree)


def test_removing_takes_no_longer_than_it_may_and_goes_on_the_next_time(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    wide(tmp_path / "tree")
    with pytest.raises(OSError, match="too much to remove"):
        remove_tree(tmp_path / "tree", within_s=0)
    remove_tree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


async def test_a_sweep_removes_what_is_deep_and_goes_on_after_what_cannot_be_removed(
    bubblewrap: ProviderUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left by runners that died: a damaged record, folders upon folders, and a stray file."""
    sandboxes = tmp_path / "state" / "sandboxes"
    for name, record in (("a-stuck", "{}"), ("b-deep", "[1]"), ("c-plain", "")):
        (sandboxes / name / "home").mkdir(parents=True)
        (sandboxes / name / "owner").touch()
        (sandboxes / name / "record").write_text(record)
    (sandboxes / "stray").touch()
    nest(sandboxes / "b-deep" / "home", 3000)

    def remove(path: Path) -> None:
        if path.name == "a-stuck":
            raise PermissionError("it is held")
        remove_tree(path)

    monkeypatch.setattr("assay_sandboxes.bubblewrap.host.sandbox_folder.remove_tree", remove)
    assert isinstance(bubblewrap.provider, BubblewrapProvider)
    with pytest.raises(Exception, match=r"a-stuck: it is held; removed besides: b-deep, c-plain"):
        await bubblewrap.provider.sweep()
    assert sorted(path.name for path in sandboxes.iterdir()) == ["a-stuck", "stray"]


async def test_a_sandbox_with_thousands_of_nested_folders_is_gone_when_it_is_closed(
    bubblewrap: ProviderUnderTest, tmp_path: Path
) -> None:
    deep = (
        "import os\nos.chdir(os.path.expanduser('~'))\n"
        "for _ in range(3000): os.mkdir('d'); os.chdir('d')"
    )
    async with bubblewrap.open() as sandbox:
        assert (await sandbox.execute(python(deep))).exit_code == 0
    assert list((tmp_path / "state" / "sandboxes").iterdir()) == []
