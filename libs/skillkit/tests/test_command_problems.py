"""Defects that can be read off the documented commands and the scripts they call."""

from pathlib import Path

import pytest

from assay_skillkit.check import check_folder
from assay_skillkit.script_options import options_of, takes

ARGPARSE = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("source")
parser.add_argument("-o", "--output", required=True)
parser.add_argument("--dry-run", action=argparse.BooleanOptionalAction)
commands = parser.add_subparsers()
extra = commands.add_parser("extra")
extra.add_argument("--deep")
parser.parse_args()
"""
CLICK = """import click
@click.command()
@click.option("--shout/--no-shout", default=False)
@click.option("-n", "--count", default=1)
def hello(shout, count): ...
"""
TYPER = """import typer
from typing import Annotated
def main(name: str, dry_run: bool = False, size: Annotated[int, typer.Option("-s")] = 1): ...
typer.run(main)
"""


@pytest.mark.parametrize(
    ("source", "taken", "refused"),
    [
        (ARGPARSE, ["--output", "--out", "-o", "--no-dry-run", "--deep", "-h"], ["--into", "-x"]),
        (CLICK, ["--shout", "--no-shout", "-n", "--help"], ["--loud"]),
        (TYPER, ["--dry-run", "--no-dry-run", "-s", "--size"], ["--length", "-l"]),
    ],
)
def test_the_options_that_a_script_declares(
    source: str, taken: list[str], refused: list[str]
) -> None:
    options = options_of(source)

    assert options is not None
    assert [option for option in taken if not takes(option, options)] == []
    assert [option for option in refused if takes(option, options)] == []


@pytest.mark.parametrize(
    "source",
    [
        "print('no library')",
        "import argparse, sys\nargparse.ArgumentParser().parse_args()\nprint(sys.argv)",
        "import argparse\np = argparse.ArgumentParser()\nrest = p.parse_known_args()",
        "import argparse\nfrom common import add\np = argparse.ArgumentParser()\nadd(p)",
        "import argparse\np = argparse.ArgumentParser()\nfor o in X: p.add_argument(o)",
        "import argparse, click",
        "def broken(:",
        "(" * 5000,
        "import typer\ndef main(**anything): ...",
    ],
)
def test_nothing_is_said_of_a_script_whose_options_cannot_be_told(source: str) -> None:
    assert options_of(source) is None


def findings(folder: Path, body: str, **files: str) -> list[tuple[str, int | None, str]]:
    skill = folder / "demo"
    skill.mkdir()
    (skill / "SKILL.md").write_text(f"---\nname: demo\ndescription: Does a thing.\n---\n{body}\n")
    for name, text in files.items():
        file = skill / name.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [(found.code, found.line, found.message) for found in check_folder(skill).findings]


def test_an_option_that_its_script_does_not_take(tmp_path: Path) -> None:
    body = (
        "```bash\n# one\npython3 scripts/a.py x -o y\n\ncd x && python scripts/a.py --into=y\n```"
    )

    assert findings(tmp_path, body, scripts__a_dot_py=ARGPARSE) == [
        ("option-unknown", 9, "`scripts/a.py` has no option `--into`.")
    ]


def test_a_program_that_stands_twice(tmp_path: Path) -> None:
    assert findings(tmp_path, "```bash\nuv uv pip install x\n```") == [
        ("command-doubled-word", 6, "The command begins with `uv uv`.")
    ]


@pytest.mark.parametrize(
    "body",
    [
        "❌ Never do this:\n\n```bash\npython scripts/a.py --into y\nuv uv pip\n```",
        "```bash\n# BAD\npython scripts/a.py --into y\nuv uv pip\n```",
        "```bash\n# Good\npython scripts/a.py x -o y\n# Wrong:\npython scripts/a.py --into y\n```",
        "```bash\npython scripts/a.py -- --into\necho --into | python scripts/a.py x\n```",
        "```bash\npython other.py --into y\n```",
        "```bash\npython scripts/a.py <file> [--into y]\n```",
    ],
)
def test_what_is_no_defect(tmp_path: Path, body: str) -> None:
    assert findings(tmp_path, body, scripts__a_dot_py=ARGPARSE) == []


@pytest.mark.parametrize(
    "body",
    [
        "```bash\ncat > scripts/new.py <<'EOF'\nprint(1)\nEOF\npython scripts/new.py\n```",
        "```bash\npython run.py -o assets/chart.png\n```",
        "```bash\ntouch references/notes.md; mkdir -p assets/icons\n```",
        "```bash\ncp assets/kept.txt assets/copy.txt\n```",
        "Bundle code, e.g. `scripts/rotate_pdf.py`, with it.",
        "Examples: `scripts/fill_form.py`, `references/schema.md`",
        "Save the picture as `assets/cover.png`.",
        "Run `scripts/your_script.py`, `scripts/example.py` or `references/TOPIC.md`.",
        "Run it from `sub`: `scripts/deep.py`.",
    ],
)
def test_what_is_no_missing_reference(tmp_path: Path, body: str) -> None:
    found = findings(tmp_path, body, assets__kept_dot_txt="x", sub__scripts__deep_dot_py="")

    assert found == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "Fill in `assets/template.html`.",
            "SKILL.md points at `assets/template.html`, which is not in the skill.",
        ),
        (
            "```bash\npython scripts/run.py assets/rates.csv\n```",
            "SKILL.md points at `assets/rates.csv`, which is not in the skill.",
        ),
        (
            "Read `reference/units.md`.",
            (
                "SKILL.md points at `reference/units.md`, which is not in the skill; "
                "`references/units.md` is."
            ),
        ),
        (
            "Read [the units](Units.md).",
            "SKILL.md points at `Units.md`, which is not in the skill; `references/units.md` is.",
        ),
    ],
)
def test_a_missing_reference(tmp_path: Path, body: str, message: str) -> None:
    found = findings(tmp_path, body, references__units_dot_md="x", scripts__run_dot_py="")

    assert [text for _, _, text in found] == [message]


@pytest.mark.parametrize(
    ("yaml", "says"),
    [
        ("description: {a: b}", "brackets or braces"),
        ("description: [a, b]", "brackets or braces"),
        ("description: a: b", "`: ` and has no quotes"),
        ("description: *.csv files", "`&` or `*`"),
        ("description: &x y", "`&` or `*`"),
        ("description: !x y", "`!`"),
        ("description: a\ndescription: b", "twice"),
        ('description: "open', "never closed"),
        ("description:\n\t- x", "tab"),
        ("description: @me", "keeps for itself"),
        ("description: a\nlonely", "between its key and its value"),
        ('description: "\\d"', "backslash"),
        ("description: 'a' b", "behind a quote"),
        ("description: %x", "keeps for itself"),
    ],
)
def test_yaml_that_cannot_be_read_is_explained_in_our_own_words(
    tmp_path: Path, yaml: str, says: str
) -> None:
    skill = tmp_path / "demo"
    skill.mkdir()
    (skill / "SKILL.md").write_text(f"---\nname: demo\n{yaml}\n---\nBody.\n")

    (finding,) = [f for f in check_folder(skill).findings if f.code == "frontmatter-invalid-yaml"]

    assert says in finding.message
