"""What was declared, what that pulled in, and what came without being asked for."""

import pytest

from assay_contracts.reports import DependencyMode
from assay_contracts.runs import Ecosystem, Package, RunFinished, RunRequested
from assay_contracts.skills import Dependencies, SkillManifest
from assay_reporting.markdown import render_markdown
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.inputs import Admitted, ConductorInput
from assay_scorer.domain.provenance import installed, removed, unmet
from assay_scorer.domain.report import build_report
from assay_scorer.domain.review import SkillUnderReview, refusal
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_testkit.scorer import NOW, a_revision, a_validation, an_environment, well_done


def package(name: str, version: str, *requires: str, ecosystem: Ecosystem = "pip") -> Package:
    return Package(ecosystem=ecosystem, name=name, version=version, requires=requires)


def origins(
    declares: Dependencies, *after: Package, before: tuple[Package, ...] = ()
) -> dict[str, str]:
    return {each.package: each.origin for each in installed(declares, before, after)}


def test_what_a_declared_package_needs_is_told_from_what_was_sneaked_in() -> None:
    found = installed(
        Dependencies(pip=("Tool>=1",)),
        (),
        (
            package("tool", "1.1", "middle"),
            package("middle", "2.0", "Deep_Down>=1"),
            package("deep-down", "1.0"),
            package("miner", "6.6", "tool"),
        ),
    )
    assert {each.package: (each.origin, each.needed_by) for each in found} == {
        "tool": ("declared", ()),
        "middle": ("pulled_in", ("tool",)),
        "deep-down": ("pulled_in", ("middle",)),
        "miner": ("undeclared", ()),
    }


def test_extras_pull_in_only_what_was_asked_for() -> None:
    tool = package("tool", "1", 'fast-lib; extra == "fast"', 'pretty-lib; extra == "pretty"')
    after = (
        tool,
        package("fast-lib", "1", "inner"),
        package("pretty-lib", "1"),
        package("inner", "1"),
    )
    assert origins(Dependencies(pip=("tool[Fast]",)), *after) == {
        "tool": "declared",
        "fast-lib": "pulled_in",
        "inner": "pulled_in",
        "pretty-lib": "undeclared",
    }


def test_extras_are_passed_on() -> None:
    after = (
        package("top", "1", "tool[fast]"),
        package("tool", "1", 'fast-lib; extra == "fast"'),
        package("fast-lib", "1"),
    )
    assert origins(Dependencies(pip=("top",)), *after)["fast-lib"] == "pulled_in"


def test_a_declared_package_that_was_there_already_still_explains_what_it_pulls_in() -> None:
    tool = package("tool", "1", 'fast-lib; extra == "fast"')
    found = origins(
        Dependencies(pip=("tool[fast]",)), tool, package("fast-lib", "1"), before=(tool,)
    )
    assert found == {"fast-lib": "pulled_in"}


def test_needs_in_a_circle_end() -> None:
    after = (package("one", "1", "two"), package("two", "1", "one"))
    assert origins(Dependencies(pip=("one",)), *after) == {"one": "declared", "two": "pulled_in"}


def test_npm_and_system_packages_are_traced_too_and_apart() -> None:
    after = (
        package("cli-tool", "1.0.0", "left@^1.0", ecosystem="npm"),
        package("left", "1.2.0", ecosystem="npm"),
        package("left", "1.2.0"),
        package("ffmpeg", "5", "libav", ecosystem="system"),
        package("libav", "5", ecosystem="system"),
        package("nmap", "7", ecosystem="system"),
    )
    found = installed(Dependencies(npm=("cli-tool",), other=("apt:ffmpeg",)), (), after)
    assert {(each.ecosystem, each.package): each.origin for each in found} == {
        ("npm", "cli-tool"): "declared",
        ("npm", "left"): "pulled_in",
        ("pip", "left"): "undeclared",
        ("system", "ffmpeg"): "declared",
        ("system", "libav"): "pulled_in",
        ("system", "nmap"): "undeclared",
    }


def test_another_version_counts_as_installed_and_tells_the_one_before() -> None:
    (found,) = installed(Dependencies(), (package("lib", "1"),), (package("Lib", "2"),))
    assert (found.version_before, found.version, found.origin) == ("1", "2", "undeclared")


def test_what_went_is_told() -> None:
    before = (package("stays", "1"), package("goes", "1"))
    assert removed(before, (package("stays", "2"),)) == (package("goes", "1"),)


def test_declared_and_not_so_is_told() -> None:
    declares = Dependencies(
        pip=("absent", "old>=2", "fine>=1", "elsewhere; sys_platform == 'win32'"),
        npm=("node-thing",),
    )
    found = unmet(declares, (package("old", "1"), package("fine", "1")))
    assert {each.requirement: each.installed_version for each in found} == {
        "absent": None,
        "old>=2": "1",
        "node-thing": None,
    }


# -- lenient and strict ---------------------------------------------------------------------------


def through(
    mode: DependencyMode, *, online: tuple[Package, ...] = (), offline: tuple[Package, ...] = ()
) -> Validation:
    """A skill that declares `tool`, whose runs leave these packages, to the end."""
    declares = SkillManifest(
        name="csv-analyzer", description="x", dependencies=Dependencies(pip=("tool",))
    )
    queued = a_validation().model_copy(update={"manifest": declares})
    admitted = Admitted(dependency_mode=mode, environment=an_environment("alpha"))
    validation = decide(queued, admitted, NOW).validation
    while work := open_work(validation):
        result = well_done(work[0])
        if isinstance(work[0], RunRequested) and work[0].kind != "regression":
            assert isinstance(result, RunFinished)
            left = online if work[0].kind == "online" else offline
            result = result.model_copy(update={"packages_after": left})
        assert isinstance(result, ConductorInput)
        validation = decide(validation, result, NOW).validation
    return validation


TOOL = package("tool", "1", "helper")
HELPER = package("helper", "2")
MINER = package("miner", "6.6")


@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_declared_packages_and_what_they_pull_in_pass(mode: DependencyMode) -> None:
    done = through(mode, online=(TOOL, HELPER))
    assert done.verdict == "passed"
    report = build_report(done).dependency_report
    assert report is not None
    assert report.mode == mode


def test_lenient_warns_of_what_is_not_declared() -> None:
    done = through("lenient", online=(TOOL, HELPER, MINER))
    assert done.verdict == "passed"
    markdown = render_markdown(build_report(done))
    assert "| miner (pip) | – | 6.6 | **not declared** |" in markdown
    assert "| helper (pip) | – | 2 | needed by tool |" in markdown
    assert "**Not declared:** miner 6.6." in markdown


def test_strict_fails_and_names_what_is_not_declared() -> None:
    done = through("strict", online=(TOOL, HELPER, MINER))
    assert (done.verdict, done.layer1_passed, done.layer2_passed) == ("failed", False, None)
    assert done.offline is None
    assert "miner 6.6 (pip)" in str(done.reason)
    assert "helper" not in str(done.reason)
    rejected = SkillUnderReview(
        status="rejected", revision=a_revision(done.skill_name), validation=done
    )
    problem = refusal("approve", rejected)
    assert problem is not None
    assert problem.code == "INVALID_STATUS_TRANSITION"


def test_strict_holds_for_the_offline_run_too() -> None:
    done = through("strict", online=(TOOL, HELPER), offline=(TOOL, HELPER, MINER))
    assert (done.verdict, done.layer1_passed, done.layer2_passed) == ("failed", False, None)
    assert done.regressions == ()
    assert "miner 6.6 (pip)" in str(done.reason)


def test_a_low_score_is_the_first_reason_also_in_strict_mode() -> None:
    queued = a_validation()
    validation = decide(queued, Admitted(dependency_mode="strict"), NOW).validation
    while work := open_work(validation):
        result = well_done(work[0], grade=1)
        if isinstance(result, RunFinished):
            result = result.model_copy(update={"packages_after": (MINER,)})
        assert isinstance(result, ConductorInput)
        validation = decide(validation, result, NOW).validation
    assert str(validation.reason).startswith("Completion is 0")
