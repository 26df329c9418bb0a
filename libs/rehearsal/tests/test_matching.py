import pytest

from assay_rehearsal.matching import best_match

SKILLS = {
    "tables": "Analyzes CSV tables and computes statistics for each column.",
    "pages": "Converts Markdown documents to HTML pages.",
    "everything": "Helps with documents, tables, pages, statistics, music, weather, code, letters, "
    "recipes, travel, sports, news, maths, history, physics, painting, gardens, and Markdown.",
}


@pytest.mark.parametrize(
    ("task", "found"),
    [
        ("I need the statistics of every column in `orders.csv`.", "tables"),
        ("Make an HTML page of this Markdown document.", "pages"),
        ("Write a haiku.", None),
        ("Convert this.", None),
    ],
)
def test_a_task_finds_the_description_that_fits(task: str, found: str | None) -> None:
    assert best_match(task, SKILLS) == found


def test_order_does_not_matter_and_ties_go_by_name() -> None:
    twins = {"b": "Counts words in texts.", "a": "Counts words in texts."}
    assert best_match("count the words of a text", twins) == "a"
    assert best_match("count the words of a text", dict(reversed(twins.items()))) == "a"


def test_a_description_that_says_nothing_is_not_found() -> None:
    assert best_match("Statistics of a table, please.", {"x": "Helps with various things."}) is None


def test_signs_without_spaces_are_words_too() -> None:
    assert (
        best_match("请统计这个表格的数据", {"x": "统计表格数据并生成报告", "y": "翻译文章"}) == "x"
    )
