"""Requirements as they are written."""

import pytest

from assay_contracts.runs import Ecosystem
from assay_contracts.skills import Dependencies
from assay_scorer.domain.requirements import allows, declared, parsed, rank


def names(dependencies: Dependencies) -> list[tuple[str, str]]:
    return [requirement.key for requirement in declared(dependencies)]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("pandas", "pandas"),
        ("Foo_Bar[extra]>=1,<2 ; python_version > '3'", "foo-bar"),
        ("ruamel.yaml~=0.18", "ruamel-yaml"),
        ("tool @ https://host.example/tool.zip", "tool"),
        ("./wheels/My_Tool-1.0-py3-none-any.whl", "my-tool"),
        ("git+https://host.example/x.git#egg=named", "named"),
        ("numpy >= 1 or so", "numpy"),
    ],
)
def test_requirements_of_pip_are_about_packages(written: str, name: str) -> None:
    assert names(Dependencies(pip=(written,))) == [("pip", name)]


@pytest.mark.parametrize("written", ["./folder", "https://host.example/a.zip", "*", ""])
def test_what_names_no_package_is_about_none(written: str) -> None:
    assert names(Dependencies(pip=(written,))) == []


def test_other_ecosystems_are_declared_too() -> None:
    dependencies = Dependencies(
        npm=("@scope/thing@^1.0", "plain"),
        other=("jq", "apt:ffmpeg (>= 5)", "system:g++", "env:API_KEY"),
    )
    assert names(dependencies) == [
        ("npm", "@scope/thing"),
        ("npm", "plain"),
        ("system", "jq"),
        ("system", "ffmpeg"),
        ("system", "g++"),
    ]


def test_conditions_and_extras_are_kept_apart() -> None:
    plain = parsed("pip", "tool[Fast_Mode]>=1")
    assert plain is not None
    assert plain.extras == {"fast-mode"}
    assert (plain.only_for, plain.conditional) == (None, False)
    extra = parsed("pip", 'helper; extra == "Fast_Mode"')
    assert extra is not None
    assert (extra.only_for, extra.conditional) == ("fast-mode", True)


@pytest.mark.parametrize(
    ("ecosystem", "constraint", "version", "met"),
    [
        ("pip", "", "1.0", True),
        ("pip", ">=1,<2", "1.5", True),
        ("pip", ">=1,<2", "2.0", False),
        ("pip", "~=1.4", "1.3.9", False),
        ("pip", "==2.0", "2", True),
        ("pip", ">=2", "2.1rc1", True),
        ("pip", ">=1", "no version", True),
        ("npm", "^1.2.0", "1.9.9", True),
        ("npm", "^1.2.0", "2.0.0", False),
        ("npm", "~1.2.0 || >=3", "1.3.0", False),
        ("npm", "1.x", "1.4.2", True),
        ("npm", "nonsense", "1.0.0", True),
        ("system", ">= 5", "1", True),
    ],
)
def test_versions_are_compared_by_the_rules_of_their_ecosystem(
    ecosystem: Ecosystem, constraint: str, version: str, met: bool
) -> None:
    assert allows(ecosystem, constraint, version) is met


@pytest.mark.parametrize("tag", ["latest", "", "git+ssh://host.example/x", "file:../x"])
def test_ranges_of_npm_that_are_no_versions_allow_any(tag: str) -> None:
    requirement = parsed("npm", f"thing@{tag}")
    assert requirement is not None
    assert (requirement.key, requirement.constraint) == (("npm", "thing"), "")


HUGE = "1" * 5000
"""More digits than Python turns into a number."""


@pytest.mark.parametrize(
    ("ecosystem", "constraint", "version"),
    [
        ("pip", ">=1", HUGE),
        ("pip", f"=={HUGE}", "1.0"),
        ("npm", "^1.0.0", f"{HUGE}.0.0"),
        ("npm", f"^{HUGE}", "1.0.0"),
    ],
)
def test_numbers_beyond_all_measure_cannot_be_compared(
    ecosystem: Ecosystem, constraint: str, version: str
) -> None:
    assert allows(ecosystem, constraint, version)
    assert rank(ecosystem, HUGE) < rank(ecosystem, "0.0.1")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (f"https://host.example/tool-{'1' * 900}-py3-none-any.whl", "tool"),
        (f"https://host.example/tool-{HUGE}-py3-none-any.whl", None),
        ("tool; " + "(" * 900, "tool"),
        ("tool; " + "(" * 3000 + "extra == 'a'" + ")" * 3000, None),
    ],
)
def test_requirements_beyond_all_measure_are_borne(written: str, name: str | None) -> None:
    requirement = parsed("pip", written)
    assert (requirement.key[1] if requirement else None) == name


def test_versions_are_put_in_order() -> None:
    assert sorted(["1.10", "junk", "1.9", "2.0rc1"], key=lambda v: rank("pip", v)) == [
        "junk",
        "1.9",
        "1.10",
        "2.0rc1",
    ]
