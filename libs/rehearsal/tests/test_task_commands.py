import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_rehearsal.task_commands import GIT_REPOSITORY, commands_for_task, files_in_prompt
from assay_skillkit.document import parse_skill

ROOT = "/workspace/skills/table-tools"
FILES = ("SKILL.md", "requirements.txt", "run.sh", "scripts/stats.py", "scripts/draw.py")


def run(prompt: str, manual: str, files: tuple[str, ...] = FILES) -> tuple[str, ...]:
    return commands_for_task(prompt, parse_skill(manual), skill_root=ROOT, skill_files=files)


def test_commands_are_run_on_the_tasks_files_from_where_the_skill_lies() -> None:
    manual = (
        "# T\n```bash\npip install -r requirements.txt\n```\n## Statistics\n"
        "```bash\npython scripts/stats.py data.csv --out stats.json\n```\n"
        "## Charts\nDraw a chart:\n```bash\npython {baseDir}/scripts/draw.py data.csv c.png\n```\n"
    )
    prompt = "Draw a chart of `orders.csv`. Save it in `june.json` and `june.png`."
    assert run(prompt, manual) == (
        f"pip install -r {ROOT}/requirements.txt",
        f"python {ROOT}/scripts/stats.py orders.csv --out june.json",
        f"python {ROOT}/scripts/draw.py orders.csv june.png",
    )


def test_of_many_sections_the_one_that_the_files_tell_is_run() -> None:
    manual = "".join(
        f"## {name}\n```bash\npython scripts/stats.py {name}.csv > {name}.json\n```\n"
        for name in ("north", "south", "inner", "outer", "upper", "lower", "left", "right", "west")
    )
    prompt = "Count what is in `west.csv`. Save it in `west.json`."
    commands = run(prompt, manual, ("SKILL.md", "scripts/stats.py"))
    assert commands[-1] == f"python {ROOT}/scripts/stats.py west.csv > west.json"
    assert not any("north" in command for command in commands)


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


def test_a_print_is_shown_and_kept_where_the_task_wants_it() -> None:
    (command,) = run(
        "Statistics of `a.csv`, please. Save them in `s.txt`.",
        "```bash\npython scripts/stats.py data.csv\n```\n",
        ("SKILL.md", "scripts/stats.py"),
    )
    assert command.startswith(f"{{ python {ROOT}/scripts/stats.py a.csv; }} > .printed; status=$?;")
    assert "cat .printed >> s.txt" in command
    assert command.endswith("exit $status")


def test_a_program_that_nothing_shows_how_to_run_is_asked_for_its_help() -> None:
    commands = run("Help me.", "See [how](references/how.md).", (*FILES, "references/how.md"))
    assert commands == (
        f"python3 {ROOT}/scripts/draw.py --help",
        f"python3 {ROOT}/scripts/stats.py --help",
    )


def test_only_words_leave_nothing_to_run() -> None:
    assert run("Help me.", "Be kind.\n```bash\nls -la\ncat SKILL.md\n```\n", ("SKILL.md",)) == ()


def test_a_server_is_waited_for_and_ended() -> None:
    started, asked, ended = run(
        "Serve `db.json`. Save what it says in `result-1.txt`.",
        "```bash\npython scripts/stats.py db.json --port 8123 &\n```\n"
        "```bash\npython scripts/draw.py --port 8123 GET /\n```\n",
    )
    assert started.startswith(f"python {ROOT}/scripts/stats.py db.json --port 8123 > server-1.log")
    assert " 8123 ||" in started
    assert "GET /" in asked
    assert ended.startswith("kill ")


def test_a_repository_is_made_where_the_task_asks_for_one() -> None:
    commands = run(
        "If this folder is no git repository yet, make it one. Who did what?",
        "```bash\ngit shortlog --summary HEAD\n```\n",
        ("SKILL.md",),
    )
    assert commands[0] == GIT_REPOSITORY
    assert commands[1] == "git shortlog --summary HEAD"


def test_code_is_run_with_the_blocks_that_it_builds_on() -> None:
    manual = (
        "```python\nimport statistics\nvalues = [1, 2, 3]\n```\n"
        "```python\nprint(statistics.mean(values))\n```\n"
        "```python\nprint(statistics.mean(measured))\n```\n"
    )
    (command,) = run("Take the mean.", manual, ("SKILL.md",))
    assert command.startswith("python3 - <<'END_OF_CODE'\nimport statistics\nvalues = [1, 2, 3]")
    assert "measured" not in command


@pytest.mark.parametrize(
    ("prompt", "inputs", "outputs"),
    [
        ("Look at `a.csv` and save it as `b.json`.", ["a.csv"], ["b.json"]),
        ("Take a.csv. The result should be written to out/b.md!", ["a.csv"], ["out/b.md"]),
        ("Sort what is in `inbox/`.", ["inbox/"], []),
        ("文件夹里有 `文稿.txt`。结果请保存到 `统计.json`。", ["文稿.txt"], ["统计.json"]),
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
