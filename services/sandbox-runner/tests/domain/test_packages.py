"""What a run tells of the packages it found and left."""

from assay_contracts.runs import Ecosystem, Package
from assay_sandbox_runner.domain.packages import changed_packages, keep_relevant_requirements


def package(name: str, version: str, *requires: str, ecosystem: Ecosystem = "pip") -> Package:
    return Package(ecosystem=ecosystem, name=name, version=version, requires=requires)


def test_requirements_are_kept_where_they_lead_to_what_changed() -> None:
    top, middle, low = package("top", "1", "Mid_dle"), package("mid-dle", "1", "low"), "low"
    aside = package("aside", "1", "elsewhere")
    before = (aside, middle, top, package(low, "1", "dropped"))
    after = (aside, middle, top, package(low, "2", "kept"))
    bare = aside.model_copy(update={"requires": ()})
    assert keep_relevant_requirements(before, after) == (
        (bare, middle, top, package(low, "1", "dropped")),
        (bare, middle, top, package(low, "2", "kept")),
    )


def test_where_nothing_changed_no_requirements_are_kept() -> None:
    packages = (package("one", "1", "two"), package("two", "1"))
    bare = (package("one", "1"), package("two", "1"))
    assert keep_relevant_requirements(packages, packages) == (bare, bare)


def test_requirements_in_a_circle_end() -> None:
    before = (package("one", "1", "two"), package("two", "1", "one"))
    after = (*before, package("new", "1", "one"))
    assert keep_relevant_requirements(before, after)[1][-1] == package("new", "1", "one")


def test_a_name_belongs_to_its_ecosystem() -> None:
    before = (package("jq", "1", ecosystem="system"),)
    after = (*before, package("jq", "1", "x"), package("x", "2", ecosystem="npm"))
    assert changed_packages(before, after) == {("pip", "jq"), ("npm", "x")}
