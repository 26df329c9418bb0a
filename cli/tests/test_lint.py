"""`assay lint`: the findings of the format check, in every form, and the exit code."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from urllib.parse import unquote

import pytest

from assay_skillkit.rules import RULES

Assay = Callable[..., CompletedProcess[str]]

GOOD = "---\nname: demo\ndescription: Does a thing.\n---\n# Demo\n\nDo it.\n"
ODD = "---\nname: demo\ndescription: Does a thing.\ncolour: x\n---\nSee [it](gone.md).\n"
BAD = "---\nname: Demo\ndescription: ''\ncolour: x\n---\nSee [it](gone.md).\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Makes `demo`, relative to the folder the command is called in."""

    def make(skill_md: str) -> Path:
        folder = tmp_path / "demo"
        folder.mkdir()
        (folder / "SKILL.md").write_text(skill_md)
        return Path("demo")

    return make


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "demo.skill", "w") as file:
        file.writestr("demo/SKILL.md", BAD)
        file.writestr("__MACOSX/demo/._SKILL.md", "junk")
    return Path("demo.skill")


def test_a_clean_skill(assay: Assay, write: Callable[[str], Path]) -> None:
    done = assay("lint", write(GOOD))

    assert (done.returncode, done.stdout, done.stderr) == (0, "demo: no errors\n", "")


def test_warnings_fail_only_when_strict(assay: Assay, write: Callable[[str], Path]) -> None:
    skill = write(ODD)

    assert assay("lint", skill).returncode == 0
    assert assay("lint", skill, "--strict").returncode == 1


def test_each_finding_has_its_place_its_reason_and_its_remedy(
    assay: Assay, write: Callable[[str], Path]
) -> None:
    done = assay("lint", write(BAD))

    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "Errors",
        "Warnings",
        "demo: 3 errors, 2 warnings",
    ]
    named = lines.index(
        "  demo/SKILL.md:2: The name `Demo` is not in lower case. [name-not-lower-case]"
    )
    assert lines[named + 1].strip() == RULES["name-not-lower-case"].fix
    assert any(line.startswith("  demo/SKILL.md:6: ") for line in lines)


def test_an_archive_is_checked_as_it_is(assay: Assay, archive: Path) -> None:
    done = assay("lint", archive)

    assert done.returncode == 1
    assert "demo.skill!SKILL.md:2: The name `Demo` is not in lower case." in done.stdout
    assert "3 errors, 2 warnings, 1 note" in done.stdout


def test_json_holds_the_findings_as_rest_gives_them(assay: Assay, archive: Path) -> None:
    done = assay("lint", archive, "--json")

    document = json.loads(done.stdout)
    assert (done.returncode, document["valid"], document["name"]) == (1, False, None)
    assert [(found["severity"], found["code"]) for found in document["findings"]] == [
        ("error", "name-not-lower-case"),
        ("error", "name-folder-mismatch"),
        ("error", "description-empty"),
        ("warning", "frontmatter-unknown-key"),
        ("warning", "reference-missing"),
        ("note", "junk-dropped"),
    ]
    assert set(document["findings"][0]) == {"code", "severity", "message", "fix", "path", "line"}


def test_sarif_refers_to_rules_and_lines(assay: Assay, write: Callable[[str], Path]) -> None:
    done = assay("lint", write(BAD), "--sarif")

    log = json.loads(done.stdout)
    assert (done.returncode, log["version"]) == (1, "2.1.0")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)
    assert len(run["results"]) == 5
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "demo/SKILL.md"
        assert place["region"]["startLine"] in {2, 3, 4, 6}


def test_sarif_names_what_can_be_opened(assay: Assay, archive: Path, tmp_path: Path) -> None:
    spaced = tmp_path / "my skill"
    spaced.mkdir()
    for source, uri in ((archive, "demo.skill"), (spaced, f"file://{tmp_path}/my skill/SKILL.md")):
        (run,) = json.loads(assay("lint", source, "--sarif").stdout)["runs"]
        location = run["results"][0]["locations"][0]["physicalLocation"]
        assert unquote(location["artifactLocation"]["uri"]) == uri


@pytest.mark.parametrize(
    "arguments", [(), ("nowhere",), ("demo.skill", "--json", "--sarif"), ("demo.skill", "--loud")]
)
def test_wrong_usage(assay: Assay, archive: Path, arguments: tuple[str, ...]) -> None:
    done = assay("lint", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


def test_many_skills_in_one_call(assay: Assay, write: Callable[[str], Path], archive: Path) -> None:
    skill = write(GOOD)

    done = assay("lint", skill, archive)
    assert done.returncode == 1
    assert done.stdout.startswith("demo: no errors\n")
    assert done.stdout.endswith("demo.skill: 3 errors, 2 warnings, 1 note\n")

    documents = json.loads(assay("lint", skill, archive, "--json").stdout)
    assert [(each["path"], each["valid"]) for each in documents] == [
        ("demo", True),
        ("demo.skill", False),
    ]
    (run,) = json.loads(assay("lint", archive, archive, "--sarif").stdout)["runs"]
    assert len(run["results"]) == 12


def test_what_is_no_zip_fails(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")

    done = assay("lint", "notes.txt")

    assert done.returncode == 1
    assert "  notes.txt: The file is not a zip. [not-a-zip]" in done.stdout
