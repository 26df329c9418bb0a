"""Which package changes explain a broken skill."""

from assay_contracts.runs import Ecosystem, Package
from assay_contracts.skills import Dependencies
from assay_scorer.domain.dependencies import package_changes, version_changes


def package(name: str, version: str, ecosystem: Ecosystem = "pip") -> Package:
    return Package(ecosystem=ecosystem, name=name, version=version)


def test_only_what_was_there_can_have_changed() -> None:
    before = (package("same", "1"), package("up", "1"), package("gone", "3"))
    after = (package("same", "1"), package("up", "2"), package("new", "1"))
    assert version_changes(before, after) == (
        (package("up", "1"), package("up", "2")),
        (package("gone", "3"), None),
    )


def test_a_name_is_one_name_however_it_is_written_and_one_in_each_ecosystem() -> None:
    before = (package("Typing_Extensions", "4.1"), package("left", "1", "npm"))
    after = (package("typing-extensions", "4.1"), package("left", "2", "pip"))
    assert version_changes(before, after) == ((package("left", "1", "npm"), None),)


def test_a_change_is_an_explanation_for_those_who_need_the_package() -> None:
    skills = {
        "victim": Dependencies(pip=("unitlib",)),
        "bystander": Dependencies(),
        "through another": Dependencies(pip=("wrapper",)),
        "culprit": Dependencies(pip=("unitlib==2.0", "other")),
    }
    wrapper = package("wrapper", "1").model_copy(update={"requires": ("Unitlib>=1",)})
    before = (package("unitlib", "1.0"), package("other", "1"), package("unrelated", "1"), wrapper)
    after = (package("unitlib", "2.0"), package("other", "2"), package("unrelated", "2"), wrapper)
    changes = package_changes(before, after, skills)
    (change,) = changes.explaining("victim")
    assert (change.package, change.old_version, change.new_version) == ("unitlib", "1.0", "2.0")
    assert change.used_by == ("victim", "through another", "culprit")
    assert change.suggested_constraint == "unitlib==1.0"
    assert changes.explaining("through another") == (change,)
    assert changes.explaining("bystander") == ()


def test_of_several_versions_beside_each_other_none_has_changed_that_is_still_there() -> None:
    before = (package("left", "1", "npm"), package("left", "2", "npm"))
    after = (package("left", "2", "npm"), package("left", "3", "npm"))
    assert version_changes(before, after) == (
        (package("left", "1", "npm"), package("left", "3", "npm")),
    )
