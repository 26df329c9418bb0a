import pytest

from assay_skillkit.shell.shapes import ShapeReader

FILES = ("SKILL.md", "requirements.txt", "run.sh", "scripts/stats.py", "scripts/draw.py")


@pytest.mark.parametrize(
    ("command", "inputs", "outputs", "own"),
    [
        ("python scripts/stats.py in.csv", ["in.csv"], [], ["scripts/stats.py"]),
        ("python ./scripts/stats.py in.csv > out.json", ["in.csv"], ["out.json"],
         ["scripts/stats.py"]),
        ("python scripts/draw.py a.csv chart.png", ["a.csv"], ["chart.png"], ["scripts/draw.py"]),
        ("python scripts/draw.py a.csv b.csv", ["a.csv", "b.csv"], [], ["scripts/draw.py"]),
        ("python {baseDir}/scripts/stats.py <input.csv>", ["input.csv"], [], ["scripts/stats.py"]),
        ('python "$SKILL_DIR/scripts/stats.py" INPUT_FILE --out=x.md', ["input.txt"], ["x.md"],
         ["scripts/stats.py"]),
        ("python scripts/draw.py a.json page.html", ["a.json"], ["page.html"], ["scripts/draw.py"]),
        ("python scripts/draw.py a.json template.html", ["a.json", "template.html"], [],
         ["scripts/draw.py"]),
        ("bash run.sh <output-dir>", [], ["output/"], ["run.sh"]),
        ("python table-tools/scripts/stats.py <csv file> [--fast]", ["input.csv"], [],
         ["scripts/stats.py"]),
        ("python ~/.agents/skills/table-tools/scripts/stats.py a.csv 2> err.log", ["a.csv"], [],
         ["scripts/stats.py"]),
        ("python scripts/gone.py a.csv", ["a.csv"], [], ["scripts/gone.py"]),
        ("curl https://example.com/data.csv", [], [], []),
    ],
)  # fmt: skip
def test_words_of_a_command_are_told_apart(
    command: str, inputs: list[str], outputs: list[str], own: list[str]
) -> None:
    shape = ShapeReader(skill_name="table-tools", skill_files=FILES).shape_of(command)
    assert list(shape.inputs) == inputs
    assert list(shape.outputs) == outputs
    assert list(shape.skill_files) == own
