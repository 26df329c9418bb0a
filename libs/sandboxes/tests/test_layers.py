"""What runs where: the host, process 1, wardens and the guest lie apart, and so does Daytona."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay_sandboxes
from assay_sandboxes.guest import (
    base_listing,
    commands_program,
    home_listing,
    package_inventory,
    probe_program,
    survey,
    workspace_program,
)
from assay_sandboxes.remote.guest_programs import program_files

PACKAGE = Path(assay_sandboxes.__file__).parent
GUEST = "assay_sandboxes.guest"
PROCESS_ONE = "assay_sandboxes.bubblewrap.process_one"
WARDEN = "assay_sandboxes.bubblewrap.warden"
OLDEST_PYTHON = (3, 9)
"""Of a remote sandbox."""


def modules(*below: str) -> list[Path]:
    return sorted(PACKAGE.joinpath(*below).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """What is imported when it runs, wherever in it; as `package.module` where that is meant."""
    version = OLDEST_PYTHON if path.parent.name == "guest" else None
    for node in running(ast.parse(path.read_text(), feature_version=version)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = PACKAGE.parent.joinpath(*node.module.split("."))
            for alias in node.names:
                is_module = (inside / f"{alias.name}.py").exists()
                yield f"{node.module}.{alias.name}" if is_module else node.module


def running(node: ast.AST) -> Iterator[ast.AST]:
    """Everything but what only a type checker sees."""
    yield node
    only_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    children = (
        node.orelse if only_types and isinstance(node, ast.If) else ast.iter_child_nodes(node)
    )
    for child in children:
        yield from running(child)


@pytest.mark.parametrize("path", modules("guest"), ids=lambda path: path.stem)
def test_what_runs_in_a_guest_needs_nothing_that_is_not_there(path: Path) -> None:
    for module in imports(path):
        top = module.partition(".")[0]
        assert top in sys.stdlib_module_names or module.startswith(GUEST), module


@pytest.mark.parametrize(
    "path",
    [*modules("bubblewrap", "process_one"), *modules("bubblewrap", "warden")],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_process_1_and_wardens_need_the_standard_library_and_the_guest_alone(path: Path) -> None:
    ours = (GUEST, PROCESS_ONE, WARDEN, "assay_sandboxes.own_names")
    for module in imports(path):
        top = module.partition(".")[0]
        assert top in sys.stdlib_module_names or module.startswith(ours), module


@pytest.mark.parametrize("path", modules("remote"), ids=lambda path: path.stem)
def test_what_is_neutral_about_remote_sandboxes_knows_no_service(path: Path) -> None:
    for module in imports(path):
        assert not module.startswith(("daytona", "aiohttp", "assay_sandboxes.daytona")), module


def test_a_guest_is_sent_what_runs_there_and_nothing_else() -> None:
    sent = {path for path in program_files() if path.startswith("assay_sandboxes/guest/")}
    started = [commands_program, workspace_program, probe_program, survey]
    started += [package_inventory, home_listing, base_listing]
    pending = [Path(str(program.__file__)) for program in started]
    runs = {PACKAGE / "guest" / "__init__.py"}
    while pending:
        path = pending.pop()
        if path not in runs:
            runs.add(path)
            named = (module.split(".")[-1] for module in imports(path) if module.startswith(GUEST))
            pending += [PACKAGE / "guest" / f"{name}.py" for name in named]
    assert {str(path.relative_to(PACKAGE.parent)) for path in runs} == sent
    started_by = {"assay_sandboxes/__init__.py", "commands.py", "probe.py", "workspace.py"}
    assert program_files().keys() - sent == started_by
