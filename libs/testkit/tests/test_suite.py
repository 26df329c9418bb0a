"""The plugin of the whole suite, and the files it names."""

from pathlib import Path

import pytest

from assay_testkit.suite import APART, LONGEST_FIRST, ON_ONE_STACK, unit_of

pytest_plugins = ("pytester",)
ROOT = Path(__file__).parents[3]


def test_every_file_it_names_is_there() -> None:
    assert [path for path in LONGEST_FIRST if not (ROOT / path).is_file()] == []
    assert set(LONGEST_FIRST) >= ON_ONE_STACK | APART


def test_files_that_share_a_stack_run_one_after_another() -> None:
    places = [LONGEST_FIRST.index(path) for path in ON_ONE_STACK]
    assert max(places) - min(places) == len(places) - 1


def test_tests_of_a_file_stay_together_unless_they_share_nothing() -> None:
    assert unit_of("a/test_b.py::TestC::test_d") == unit_of("a/test_b.py::test_e")
    assert unit_of("a/test_b.py::test_c") != unit_of("a/test_c.py::test_c")
    assert len({unit_of(f"{path}::test_x") for path in ON_ONE_STACK}) == 1
    for path in APART:
        assert unit_of(f"{path}::test_x") != unit_of(f"{path}::test_y")


@pytest.mark.parametrize("how", [(), ("--numprocesses", "2", "--dist", "loadfile")])
def test_the_slowest_files_are_shown(pytester: pytest.Pytester, how: tuple[str, ...]) -> None:
    for number in range(11):
        pause_s = 0.3 if number == 7 else 0.0
        pytester.makepyfile(
            **{f"test_{number}": f"import time\ndef test_it(): time.sleep({pause_s})"}
        )
    result = pytester.runpytest_subprocess("-p", "assay_testkit.suite", *how)
    result.assert_outcomes(passed=11)
    shown = [line for line in result.outlines if " s  test_" in line]
    assert len(shown) == 10
    assert shown[0].endswith("test_7.py")
    result.stdout.fnmatch_lines(["*the 10 slowest of 11 files*", "* s  all files*"])
