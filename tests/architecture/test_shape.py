"""Every service is cut the same way, and nothing grows past what a reader can hold."""

import ast
from pathlib import Path
from typing import Final

import pytest
from tests.architecture.packages import PACKAGES, SERVICES, home, modules, parsed, source

SHAPE: Final = {
    "__init__",
    "__main__",
    "adapters",
    "app",
    "domain",
    "handlers",
    "ports",
    "settings",
    "use_cases",
}
BY_THE_CLOCK: Final = "workers"
"""Only where something runs by the clock."""
OWN_ROOMS: Final = {"scorer": {"migrations", "recompute"}}
"""What a tool looks for in one place, and commands that an operator runs by name."""
LONGEST_FILE: Final = 400
LONGEST_FUNCTION: Final = 60


def _names(folder: Path) -> set[str]:
    return {
        path.stem
        for path in folder.iterdir()
        if path.suffix == ".py" or (path.is_dir() and any(path.rglob("*.py")))
    }


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_has_the_same_rooms(service: str) -> None:
    rooms = _names(source(service)) - {BY_THE_CLOCK, *OWN_ROOMS.get(service, set())}
    assert rooms == SHAPE, f"{service}: {rooms ^ SHAPE}"
    assert (home(service) / "tests").is_dir()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_what_it_is(package: str) -> None:
    readme = home(package) / "README.md"
    assert readme.is_file(), f"{package} has no README.md"
    assert len(readme.read_text().splitlines()) > 5


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_is_longer_than_a_reader_can_hold(package: str) -> None:
    long = {
        str(path): length
        for path in modules(package)
        if (length := len(path.read_text().splitlines())) > LONGEST_FILE
    }
    assert not long


@pytest.mark.parametrize("package", PACKAGES)
def test_no_function_is_longer_than_a_screen(package: str) -> None:
    long = {
        f"{path}:{node.lineno} {node.name}": length
        for path in modules(package)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    }
    assert not long


@pytest.mark.parametrize("service", SERVICES)
def test_a_use_case_is_a_frozen_dataclass_that_is_called(service: str) -> None:
    for path in modules(service, "use_cases"):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and _is_called(node):
                assert _is_frozen(node), f"{path}:{node.lineno} {node.name} is not frozen"


def _is_called(node: ast.ClassDef) -> bool:
    return any(
        isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == "__call__"
        for each in node.body
    )


def _is_frozen(node: ast.ClassDef) -> bool:
    if any("Protocol" in ast.unparse(base) for base in node.bases):
        return True
    return any("frozen=True" in ast.unparse(decorator) for decorator in node.decorator_list)
