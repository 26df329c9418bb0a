"""A task with the skill's name, a respelling of it, or its path never reaches an executor."""

import asyncio
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assay_contracts.validations import ValidationPlanned
from assay_judge.domain.blindness import HiddenSkill, leaks, name_rule
from assay_rehearsal.conversation import Reply, Turn
from assay_testkit.judge import (
    judge_agents,
    plan_tasks,
    planner_answering,
    planning_of,
)

PATHS = ("SKILL.md", "scripts/analyze.py", "references/format.md", "assets/sample.csv")


def hidden(name: str, description: str = "Works on things.") -> HiddenSkill:
    return HiddenSkill(name=name, description=description, paths=PATHS)


words = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=2, max_size=9)
names = st.lists(words, min_size=2, max_size=4).map("-".join)
joints = st.sampled_from(
    ["-", "_", " ", "", ".", "/", " - ", "\u2011", "\u2013", "\u00a0", "\u200b"]
)
cases = st.sampled_from([str.lower, str.upper, str.title, str.capitalize])
surroundings = st.sampled_from(
    [
        "Please use {} for this.",
        "{}",
        "Run `{}` on the file.",
        "What does the ({}) say?",
        "/workspace/skills/{}/run",
        "Frage an {}: wie viele?",
        "用{}处理",
        "one\n{}\ntwo",
    ]
)


@settings(max_examples=400)
@given(names, joints, cases, surroundings)
def test_every_spelling_of_the_name_is_noticed(
    name: str, joint: str, case: object, around: str
) -> None:
    assert callable(case)
    respelled = joint.join(case(part) for part in name.split("-"))
    assert leaks(around.format(respelled), hidden(name))


@given(names)
def test_camel_case_is_noticed(name: str) -> None:
    first, *rest = name.split("-")
    assert leaks(f"Call {first}{''.join(part.title() for part in rest)} now.", hidden(name))


@given(names, st.sampled_from([" ", ".", "-", "\u200b", " · "]))
def test_a_name_spelled_out_is_noticed(name: str, gap: str) -> None:
    assume(len(name.replace("-", "")) >= 6)
    assert leaks(f"Ask {gap.join(name.replace('-', ''))} about it.", hidden(name))


@pytest.mark.parametrize(
    "respelled",
    [
        "ＣＳＶ-Ａｎａｌｙｚｅｒ",
        "сsv аnаlуzеr",
        "ćśv-ànålýzèr",
        "𝐜𝐬𝐯-𝐚𝐧𝐚𝐥𝐲𝐳𝐞𝐫",
        "csv‑analyzer",
        "CSVAnalyzer2",
    ],
)
def test_letters_that_only_look_alike_are_noticed(respelled: str) -> None:
    assert leaks(f"Let {respelled} do it.", hidden("csv-analyzer"))


@settings(max_examples=25, deadline=None)
@given(names, joints, cases, surroundings, st.sampled_from(["prompt", "path", "content"]))
def test_no_respelling_gets_past_the_planner(
    name: str, joint: str, case: object, around: str, place: str
) -> None:
    assume(len(name) <= 30)
    assert callable(case)
    leak = around.format(joint.join(case(part) for part in name.split("-")))
    task = {
        "prompt": f"Please count what is in the text. {leak if place == 'prompt' else ''}",
        "files": [
            {
                "path": re.sub(r"[^\w -]", "", leak) or "x" if place == "path" else "text.txt",
                "content": leak if place == "content" else "one two",
            }
        ],
        "success_criterion": "The count is right.",
        "checks": [{"kind": "file", "path": "count.txt"}],
    }
    assume(place != "path" or leaks(task["files"][0]["path"], hidden(name)))  # type: ignore[index]
    manual = f"---\nname: {name}\ndescription: Works on things.\n---\n\n# Things\n"
    bundles, request = planning_of(name, {"SKILL.md": manual}, 1)
    agents = judge_agents(planner=planner_answering(task))
    result = asyncio.run(plan_tasks(bundles, agents)(request))
    assert isinstance(result, ValidationPlanned)
    assert result.tasks == ()
    assert result.failure is not None
    assert "gives the skill away" in result.failure.reason


@given(st.text(max_size=300), names)
def test_text_without_a_trace_of_the_name_is_blind(text: str, name: str) -> None:
    squeezed = re.sub(r"[\W_]", "", text.casefold())
    assume(not any(part in squeezed for part in name.split("-")))
    assume("skill" not in text.casefold())
    assert leaks(text, hidden(name)) == ()


@pytest.mark.parametrize(
    "path",
    [
        "SKILL.md",
        "skill.md",
        "scripts/analyze.py",
        "analyze.py",
        "references/format.md",
        "/workspace/skills/x",
        "skills/x/a",
    ],
)
def test_paths_of_the_skill_are_noticed(path: str) -> None:
    assert leaks(f"Have a look at {path} first.", hidden("table-tools"))


@pytest.mark.parametrize(
    "text",
    [
        "Analyze my file sample.csv, please.",
        "Reformat the text; the format is free.",
        "Which tools are on the table?",
    ],
)
def test_ordinary_words_are_not(text: str) -> None:
    assert leaks(text, hidden("table-tools")) == ()


@pytest.mark.parametrize(
    "text", ["Use the pdf skill.", "Try `pdf` on it.", "the skill: PDF", "with the pdf tool"]
)
def test_a_name_that_is_a_plain_word_counts_where_it_is_used_as_a_name(text: str) -> None:
    assert leaks(text, hidden("pdf", "Fills in PDF forms."))


def test_a_name_that_is_a_plain_word_may_be_used_as_one() -> None:
    assert not leaks(
        "Merge these PDF files into one.pdf, please.", hidden("pdf", "Fills PDF forms.")
    )
    assert not leaks("请统计这些数据。", hidden("统计", "统计文本的行数和字数。"))
    assert leaks("请统计这些数据。", hidden("统计", "数一数文本的行数和字数。"))
    assert leaks("用`统计`处理。", hidden("统计", "统计文本的行数和字数。"))


def test_the_rule_that_the_planner_is_told_is_the_one_that_is_applied() -> None:
    plain = hidden("pdf", "Fills and merges PDF files.")
    assert "may stand in a task" in name_rule(plain)
    assert leaks("Merge the three pdf files into one.", plain) == ()
    for told_off in ("“pdf”", "`pdf`", "the pdf skill", "use the pdf tool", "call pdf command"):
        assert leaks(f"Merge them with {told_off}.", plain), told_off
    assert "in any spelling" in name_rule(hidden("pdf-tools"))
    assert leaks("Merge them with PDF Tools.", hidden("pdf-tools"))


def test_a_skill_named_after_a_kind_of_file_lets_tasks_name_such_files() -> None:
    skill = hidden("pdf", "Merges and splits portable documents.")
    assert leaks("Put `a.pdf` and `b.pdf` together into `all.pdf`.", skill) == ()
    assert leaks("Use the pdf skill on `a.pdf`.", skill)


async def test_the_planner_is_told_how_the_rule_reads_for_this_skill() -> None:
    heard: list[str] = []

    def listens(turn: Turn) -> Reply:
        heard.append(turn.request)
        return Reply("No plan.")

    for name, description in (("pdf", "Merges PDF files."), ("pdf-tools", "Merges files.")):
        files = {"SKILL.md": f"---\nname: {name}\ndescription: {description}\n---\n# Merging\n"}
        bundles, request = planning_of(name, files)
        await plan_tasks(bundles, judge_agents(planner=listens))(request)
    assert "may stand in a task" in heard[0]
    assert "in any spelling" not in heard[0]
    assert any("in any spelling" in text for text in heard)
