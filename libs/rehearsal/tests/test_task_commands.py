import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_rehearsal.task_commands import commands_for_task, files_in_prompt
from assay_skillkit.document import parse_skill

ROOT = "/workspace/skills/table-tools"
FILES = ("SKILL.md", "requirements.txt", "run.sh", "scripts/stats.py", "scripts/draw.py")


def test_a_command_is_run_on_the_tasks_files_from_where_the_skill_lies() -> None:
    document = parse_skill(
        "# T\n```bash\npip install -r requirements.txt\n```\n## Statistics\n"
        "```bash\npython scripts/stats.py data.csv --out stats.json\n```\n"
        "## Charts\nDraw a chart:\n```bash\npython {baseDir}/scripts/draw.py data.csv c.png\n```\n"
    )
    prompt = "Draw a chart of `orders.csv`. Save it as `june.png`."
    assert commands_for_task(prompt, document, skill_root=ROOT, skill_files=FILES) == (
        f"pip install -r {ROOT}/requirements.txt",
        f"python {ROOT}/scripts/draw.py orders.csv june.png",
    )
    prompt = "I need statistics of `orders.csv`. Write them to `june.json`."
    assert commands_for_task(prompt, document, skill_root=ROOT, skill_files=FILES)[-1] == (
        f"python {ROOT}/scripts/stats.py orders.csv --out june.json"
    )


def test_what_makes_the_inputs_is_run_first() -> None:
    document = parse_skill(
        "```bash\npython scripts/stats.py notes.txt > middle.json\n```\n"
        "## Render\n```bash\npython scripts/draw.py middle.json final.html\n```\n"
    )
    prompt = "Render `memo.txt` as a page. Save it in `memo.html`."
    assert commands_for_task(prompt, document, skill_root=ROOT, skill_files=FILES) == (
        f"python {ROOT}/scripts/stats.py memo.txt > middle.json",
        f"python {ROOT}/scripts/draw.py middle.json memo.html",
    )


def test_a_print_is_kept_where_the_task_wants_it() -> None:
    document = parse_skill("```bash\npython scripts/stats.py data.csv\n```\n")
    (command,) = commands_for_task(
        "Statistics of `a.csv`, please. Save them in `s.txt`.",
        document,
        skill_root=ROOT,
        skill_files=FILES,
    )
    assert command == (
        f"{{ python {ROOT}/scripts/stats.py a.csv; }} > s.txt; status=$?; cat s.txt; exit $status"
    )


def test_without_commands_what_is_there_is_looked_at() -> None:
    document = parse_skill("See [how](references/how.md).")
    looks = commands_for_task("Help me.", document, skill_root=ROOT, skill_files=FILES)
    assert any("references/how.md" in look for look in looks)
    assert any("ast.parse" in look and "scripts/stats.py" in look for look in looks)
    assert any(look.startswith("bash -n") for look in looks)
    (kept,) = commands_for_task(
        "Help me. Save it in `n.txt`.", document, skill_root=ROOT, skill_files=FILES
    )
    assert "> n.txt;" in kept


@pytest.mark.parametrize(
    ("prompt", "inputs", "outputs"),
    [
        ("Look at `a.csv` and save it as `b.json`.", ["a.csv"], ["b.json"]),
        ("Take a.csv. The result should be written to out/b.md!", ["a.csv"], ["out/b.md"]),
        ("Sort what is in `inbox/`.", ["inbox/"], []),
        ("Nothing but e.g. version 1.2 of example.com here.", [], []),
    ],
)
def test_files_a_prompt_gives_and_wants(prompt: str, inputs: list[str], outputs: list[str]) -> None:
    files = files_in_prompt(prompt)
    assert (list(files.inputs), list(files.outputs)) == (inputs, outputs)


@given(st.text(), st.text())
def test_any_document_and_prompt_give_some_commands_or_none(prompt: str, block: str) -> None:
    document = parse_skill(f"```bash\n{block}\n```\n")
    found = commands_for_task(prompt, document, skill_root=ROOT, skill_files=FILES)
    assert all(isinstance(command, str) for command in found)
