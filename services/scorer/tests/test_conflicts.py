"""Conflicts over packages, found by resolving what all skills ask for."""

from assay_contracts.reports import DependencyConflict
from assay_contracts.runs import Ecosystem, Package
from assay_contracts.skills import Dependencies
from assay_scorer.domain.conflicts import Demands, conflicts
from assay_scorer.domain.dependencies import package_changes
from assay_scorer.domain.requirements import key_of, parsed
from assay_scorer.domain.resolution import Ask, resolve


def package(name: str, version: str, *requires: str, ecosystem: Ecosystem = "pip") -> Package:
    return Package(ecosystem=ecosystem, name=name, version=version, requires=requires)


def ask(by: str, text: str, ecosystem: Ecosystem = "pip") -> Ask:
    requirement = parsed(ecosystem, text)
    assert requirement is not None
    return Ask(by, requirement)


def versions(name: str, *numbers: str, ecosystem: Ecosystem = "pip") -> tuple[Package, ...]:
    return tuple(package(name, number, ecosystem=ecosystem) for number in numbers)


# -- resolving ---------------------------------------------------------------------------------


def test_the_newest_version_that_all_allow_is_taken() -> None:
    found = resolve([ask("a", "lib>=1"), ask("b", "lib<3")], versions("lib", "1", "2", "2.10", "3"))
    assert found.versions[("pip", "lib")].version == "2.10"
    assert found.clashes == ()


def test_a_preferred_version_is_taken_if_it_will_do_and_an_avoided_one_never() -> None:
    known = versions("lib", "1", "2", "3")
    lib = key_of(known[0])
    asks = [ask("a", "lib")]
    assert resolve(asks, known, preferred={lib: "1"}).versions[lib].version == "1"
    assert resolve([ask("a", "lib>1")], known, preferred={lib: "1"}).versions[lib].version == "3"
    avoided = frozenset({(lib, "3")})
    assert resolve(asks, known, avoided=avoided).versions[lib].version == "2"


def test_what_packages_need_is_asked_for_too() -> None:
    known = (
        package("top", "2", "lib>=2"),
        package("top", "1", "lib<2"),
        *versions("lib", "1", "2"),
    )
    found = resolve([ask("a", "top"), ask("b", "lib<2")], known)
    chosen = {key[1]: each.version for key, each in found.versions.items()}
    assert chosen == {"top": "1", "lib": "1"}


def test_extras_are_asked_for_where_somebody_wants_them() -> None:
    known = (package("top", "1", 'lib<2; extra == "old"'), *versions("lib", "1", "2"))
    asks = [ask("b", "lib")]
    assert resolve([ask("a", "top"), *asks], known).versions[("pip", "lib")].version == "2"
    assert resolve([ask("a", "top[old]"), *asks], known).versions[("pip", "lib")].version == "1"


def test_every_clash_is_found_and_the_rest_is_resolved() -> None:
    known = (*versions("one", "1", "2"), *versions("two", "1", "2"), *versions("fine", "1"))
    asks = [
        *(ask("a", text) for text in ("one==1", "two==1", "fine")),
        *(ask("b", text) for text in ("one==2", "two==2")),
    ]
    found = resolve(asks, known)
    assert {clash.key[1]: {each.by for each in clash.asks} for clash in found.clashes} == {
        "one": {"a", "b"},
        "two": {"a", "b"},
    }
    assert [key[1] for key in found.versions] == ["fine"]


def test_a_package_of_which_no_version_is_known_stands_in_nobodys_way() -> None:
    found = resolve([ask("a", "unknown==1"), ask("b", "unknown==2")], ())
    assert (found.versions, found.clashes) == ({}, ())


def test_npm_ranges_are_resolved_by_its_own_rules() -> None:
    known = versions("lib", "1.2.0", "1.9.0", "2.0.0", ecosystem="npm")
    asks = [ask("a", "lib@^1.2.0", "npm"), ask("b", "lib@>=1.0.0", "npm")]
    assert resolve(asks, known).versions[("npm", "lib")].version == "1.9.0"


def test_two_hundred_skills_are_resolved() -> None:
    known = [each for n in range(50) for each in versions(f"lib{n}", "1", "2", "3")]
    asks = [ask(f"s{n}", f"lib{(n + k) % 50}>={k}") for n in range(200) for k in (1, 2, 3)]
    assert len(resolve(asks, known).versions) == 50


# -- conflicts ---------------------------------------------------------------------------------


def between(
    declares: dict[str, str],
    *,
    before: tuple[Package, ...],
    after: tuple[Package, ...],
    offered: tuple[Package, ...] = (),
) -> tuple[DependencyConflict, ...]:
    """Skills with a requirement each; the last one is under test."""
    skills = {name: Dependencies(pip=(text,) if text else ()) for name, text in declares.items()}
    demands = Demands(list(skills)[-1], skills, after, (*after, *before, *offered))
    return conflicts(demands, package_changes(before, after, skills))


ONE, TWO = versions("unitlib", "1.0", "2.0")


def test_what_no_version_meets_is_told_with_who_asks_for_what() -> None:
    (found,) = between(
        {"old": "unitlib<2", "other": "something", "new": "unitlib==2.0"},
        before=(ONE,),
        after=(TWO,),
    )
    assert (found.package, found.version_before, found.version_after) == ("unitlib", "1.0", "2.0")
    assert {each.by: each.constraint for each in found.asked} == {"old": "<2", "new": "==2.0"}
    assert found.skills == ("old", "new")
    assert found.resolved_version is None
    assert found.suggested_constraint == "unitlib<2"


def test_a_version_that_would_do_for_all_is_told_where_another_is_installed() -> None:
    middle = package("unitlib", "1.5")
    (found,) = between(
        {"old": "unitlib<2", "new": "unitlib>=1.5"}, before=(ONE,), after=(TWO,), offered=(middle,)
    )
    assert found.resolved_version == "1.5"
    assert found.suggested_constraint == "unitlib<2"


def test_a_conflict_through_another_package_names_that_package() -> None:
    wrapper = package("wrapper", "3.0", "unitlib>=2")
    (found,) = between({"old": "unitlib<2", "new": "wrapper"}, before=(ONE,), after=(TWO, wrapper))
    assert {each.by for each in found.asked} == {"old", "wrapper 3.0"}
    assert found.skills == ("old", "new")


def test_where_all_agree_there_is_no_conflict() -> None:
    assert between({"old": "unitlib", "new": "unitlib>=1"}, before=(ONE,), after=(TWO,)) == ()


def test_a_conflict_among_others_is_not_held_against_the_new_skill() -> None:
    assert (
        between({"a": "unitlib<2", "b": "unitlib>=2", "new": ""}, before=(ONE,), after=(ONE,)) == ()
    )
