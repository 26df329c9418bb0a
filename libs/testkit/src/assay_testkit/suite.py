"""A pytest plugin for the whole suite: who runs which files when, and which took longest."""

from collections import defaultdict
from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling

LONGEST_FIRST: Final = (
    "tests/e2e/test_api.py",
    "tests/e2e/test_review.py",
    "tests/page/test_in_the_browser.py",
    "tests/e2e/test_pipeline.py",
    "tests/e2e/test_uploads.py",
    "tests/e2e/test_names.py",
    "tests/e2e/test_kill.py",
    "tests/agents/test_labelled_skills.py",
    "libs/sandboxes/tests/test_daytona.py",
    "tests/e2e/test_command.py",
    "libs/sandboxes/tests/test_conformance.py",
    "tests/e2e/test_full_test.py",
    "cli/tests/test_up.py",
    "tests/agents/test_hostile_models.py",
    "services/scorer/tests/test_reconciler.py",
)
"""Files that take long: a worker that began one of them last would leave the others idle."""
ON_ONE_STACK: Final = frozenset(
    {"tests/e2e/test_pipeline.py", "tests/e2e/test_uploads.py", "tests/e2e/test_names.py"}
)
"""Files that share a stack, and for that a worker, in the order above."""
APART: Final = frozenset({"tests/agents/test_hostile_models.py"})
"""Files whose tests share nothing, so that any worker may take any of them."""
SHOWN: Final = 10


class SlowestFiles:
    """Adds up how long the tests of each file took, set-up and tear-down included."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[file_of(report.nodeid)] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self.seconds) < SHOWN:
            return
        terminalreporter.section(f"the {SHOWN} slowest of {len(self.seconds)} files")
        slowest = sorted(self.seconds.items(), key=lambda each: each[1], reverse=True)
        for path, seconds in slowest[:SHOWN]:
            terminalreporter.line(f"{seconds:7.1f} s  {path}")
        terminalreporter.line(
            f"{sum(self.seconds.values()):7.1f} s  all files, one after the other"
        )


def pytest_configure(config: pytest.Config) -> None:
    # Workers send their reports to the process that started them, which adds up.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SlowestFiles(), "assay-slowest-files")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {path: number for number, path in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(file_of(item.nodeid), len(place)))


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    if config.getvalue("dist") != "loadfile":
        return None
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = unit_of  # noqa: SLF001  # the documented hook is to subclass, untyped
    return scheduler


def unit_of(nodeid: str) -> str:
    """What a test belongs to that one worker carries out as a whole."""
    path = file_of(nodeid)
    if path in ON_ONE_STACK:
        return "tests on one stack"
    return nodeid if path in APART else path


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]
