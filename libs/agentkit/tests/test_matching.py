import pytest

from assay_agentkit.matching import best_match, content_words, overlap, stem

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


def test_words_of_one_family_have_one_stem() -> None:
    assert len({stem(w) for w in ("analyze", "analyzer", "analysis", "analyses", "analyse")}) == 1
    assert len({stem(w) for w in ("summary", "summaries", "summarize", "summarise")}) == 1


def test_signs_without_spaces_are_words_too() -> None:
    assert (
        best_match("请统计这个表格的数据", {"x": "统计表格数据并生成报告", "y": "翻译文章"}) == "x"
    )
    assert content_words("统计 data") >= {"统计", "data"}


def test_overlap_measures_copying() -> None:
    source = "Analyzes CSV tables and computes statistics for each column."
    copied = overlap("Please: analyzes csv tables and computes statistics for each", source)
    assert copied.longest_run == 8
    assert copied.shared_trigrams > 0.6
    own = overlap("What is the average price in every region of this table?", source)
    assert own.longest_run <= 1
    assert own.shared_trigrams == 0
    assert overlap("", source).longest_run == 0
