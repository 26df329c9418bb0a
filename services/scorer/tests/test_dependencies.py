"""Which package changes explain a broken skill."""

import pytest

from assay_contracts.runs import Ecosystem, Package
from assay_contracts.skills import Dependencies
from assay_scorer.domain.dependencies import declared, explanations, version_changes


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


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("pandas", "pandas"),
        ("Foo_Bar[extra]>=1,<2 ; python_version > '3'", "foo-bar"),
        ("ruamel.yaml~=0.18", "ruamel-yaml"),
    ],
)
def test_requirements_are_about_packages(requirement: str, name: str) -> None:
    assert declared(Dependencies(pip=(requirement,))) == {("pip", name)}


def test_other_ecosystems_are_declared_too() -> None:
    dependencies = Dependencies(npm=("@scope/thing@^1.0",), other=("jq",))
    assert declared(dependencies) == {("npm", "@scope/thing"), ("system", "jq")}


def test_a_change_is_an_explanation_for_those_who_declare_the_package() -> None:
    victim, culprit = Dependencies(pip=("unitlib",)), Dependencies(pip=("unitlib==2.0", "other"))
    before = (package("unitlib", "1.0"), package("other", "1"), package("unrelated", "1"))
    after = (package("unitlib", "2.0"), package("other", "2"), package("unrelated", "2"))
    everyone = [("victim", victim), ("bystander", Dependencies()), ("culprit", culprit)]
    (change,) = explanations(victim, before, after, everyone)
    assert (change.package, change.old_version, change.new_version) == ("unitlib", "1.0", "2.0")
    assert change.used_by == ("victim", "culprit")
    assert change.suggested_constraint == "unitlib==1.0"
    assert explanations(Dependencies(), before, after, everyone) == ()
