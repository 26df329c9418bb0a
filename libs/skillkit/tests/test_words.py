from assay_skillkit.words import content_words, overlap, stem


def test_words_of_one_family_have_one_stem() -> None:
    assert len({stem(w) for w in ("analyze", "analyzer", "analysis", "analyses", "analyse")}) == 1
    assert len({stem(w) for w in ("summary", "summaries", "summarize", "summarise")}) == 1


def test_signs_without_spaces_are_words_too() -> None:
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


def test_what_is_no_word_of_english_is_left_as_it_is() -> None:
    assert stem("utf8") == "utf8"
    assert stem("a" * 50 + "ing") == "a" * 50 + "ing"
    assert content_words("2024 it is") == frozenset()
