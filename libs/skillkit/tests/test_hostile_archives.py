"""Archives and names that lie, each refused for exactly the reasons it should be."""

import io
import stat
import sys
import tracemalloc

import pytest

from assay_skillkit.check import check_archive
from assay_skillkit.limits import MIB
from assay_skillkit.rules import RULES
from assay_testkit.archives import Entry, refusals, skill_zip
from assay_testkit.hostile import HOSTILE


@pytest.mark.parametrize("case", HOSTILE)
def test_is_refused_for_exactly_its_reasons(case: str) -> None:
    build, expected = HOSTILE[case]

    assert refusals(build()) == expected


def test_all_reasons_are_given_together() -> None:
    archive = skill_zip(
        Entry(name="../x", data=b"x"),
        Entry(name="demo/link", data=b"x", mode=stat.S_IFLNK | 0o777),
        Entry(name="demo/bad", data=b"x", crc=7),
        skill_md=b"---\nname: Demo\ndescription: ''\n---\n",
    )

    codes = {finding.code for finding in check_archive(io.BytesIO(archive)).errors}

    assert codes == {
        "path-traversal",
        "entry-symlink",
        "entry-crc-mismatch",
        "name-not-lower-case",
        "name-folder-mismatch",
        "description-empty",
    }


@pytest.mark.parametrize(
    "case",
    ["flat bomb", "one header, listed often", "one huge file", "nested bomb", "many small bombs"],
)
def test_memory_stays_bounded(case: str) -> None:
    archive = io.BytesIO(HOSTILE[case][0]())
    tracemalloc.start()
    try:
        check_archive(archive)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 30 * MIB


def test_every_code_is_explained() -> None:
    for code, rule in RULES.items():
        assert code == rule.code
        assert rule.fix.endswith(".")


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 60


WRITES = {"os.mkdir", "os.rename", "os.link", "os.symlink", "os.chmod", "os.truncate", "os.remove"}


def test_nothing_is_written_anywhere() -> None:
    written: list[object] = []
    watching = False

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if not watching:
            return
        reads = event == "open" and arguments[1] in {"r", "rb"}
        if event in WRITES or (event == "open" and not reads):
            written.append((event, arguments))

    archives = [io.BytesIO(build()) for build, _ in HOSTILE.values()]
    sys.addaudithook(watch)
    watching = True
    for archive in archives:
        check_archive(archive)
    watching = False

    assert written == []
