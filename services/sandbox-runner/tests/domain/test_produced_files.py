"""Which files a trace keeps the contents of, in which order, and what is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_contracts.tasks import Check, CommandCheck, FileCheck, PatternCheck
from assay_sandbox_runner.domain.produced_files import (
    MOST_BYTES,
    MOST_CHARS,
    MOST_FILES,
    Rank,
    excerpt,
    files_to_keep,
    patterns_for,
    quoted_passages,
    shares,
)
from assay_testkit.runner import a_task

PROMPT = "Sum up `data.csv` and write the sums to `out/sums.md`."


def kept(sizes: dict[str, int], made: set[str], *checks: Check) -> list[tuple[str, Rank, bool]]:
    task = a_task("t1", *checks, prompt=PROMPT)
    return [(file.path, file.rank, file.is_read) for file in files_to_keep(sizes, made, task)]


def test_what_a_check_names_comes_first_then_what_was_asked_for_then_the_rest() -> None:
    sizes = dict.fromkeys(
        ("data.csv", "notes.txt", "z.json", "out/sums.md", "a.log", "lib/site-packages/x.py"), 10
    )
    made = {"z.json", "out/sums.md", "a.log", "lib/site-packages/x.py"}
    assert kept(sizes, made, CommandCheck(command="jq -e .total z.json")) == [
        ("z.json", Rank.CHECKED, True),
        ("out/sums.md", Rank.ASKED_FOR, True),
        ("a.log", Rank.MADE, True),
        ("data.csv", Rank.GIVEN, True),
        ("lib/site-packages/x.py", Rank.INSTALLED, True),
    ]


@pytest.mark.parametrize(
    ("check", "is_named"),
    [
        (FileCheck(path="a.md"), True),
        (FileCheck(path="./a.md"), True),
        (PatternCheck(pattern="x", path="a.md"), True),
        (PatternCheck(pattern="a.md"), False),
        (CommandCheck(command="test -s a.md"), True),
        (CommandCheck(command="test -s data.md"), False),
        (CommandCheck(command="cat out/a.md"), False),
    ],
)
def test_checks_name_files(check: Check, is_named: bool) -> None:
    ((_, rank, _),) = kept({"a.md": 1}, {"a.md"}, check)
    assert (rank is Rank.CHECKED) == is_named


def test_what_is_read_is_bounded_in_bytes_and_count() -> None:
    sizes = {"huge.bin": MOST_BYTES + 1, "most.bin": MOST_BYTES - 5, "small.txt": 5, "x.txt": 6}
    assert [(path, is_read) for path, _, is_read in kept(sizes, set(sizes))] == [
        ("huge.bin", False),
        ("most.bin", True),
        ("small.txt", True),
        ("x.txt", False),
    ]
    many = {f"{number:03}.txt": 1 for number in range(MOST_FILES + 20)}
    found = kept({**many, "out/sums.md": 1}, {*many, "out/sums.md"})
    assert len(found) == MOST_FILES
    assert found[0][0] == "out/sums.md"


@given(
    st.lists(st.tuples(st.sampled_from(Rank), st.integers(0, 200_000)), max_size=12),
    st.integers(0, 100_000),
)
def test_shares_are_bounded_and_leave_nothing_to_a_lower_rank_that_a_higher_one_lacks(
    lengths: list[tuple[Rank, int]], room: int
) -> None:
    given_to = shares(lengths, room)
    assert sum(given_to) <= room
    assert all(share <= length for share, (_, length) in zip(given_to, lengths, strict=True))
    wanting = [rank for share, (rank, n) in zip(given_to, lengths, strict=True) if share < n]
    if wanting:
        assert sum(given_to) == room
        lower = [
            share for share, (rank, _) in zip(given_to, lengths, strict=True) if rank > min(wanting)
        ]
        assert not any(lower)


def test_an_even_share_that_one_does_not_need_goes_to_the_others() -> None:
    lengths = [(Rank.CHECKED, 90), (Rank.CHECKED, 10), (Rank.MADE, 50)]
    assert shares(lengths, 70) == (60, 10, 0)
    assert shares(lengths, 120) == (90, 10, 20)
    assert shares([(Rank.MADE, 10**9)]) == (MOST_CHARS,)


@given(
    st.text(min_size=1, max_size=3000),
    st.integers(0, 2000),
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 80)), max_size=4),
)
def test_an_excerpt_keeps_its_bound_and_what_a_check_names(
    text: str, limit: int, places: list[tuple[int, int]]
) -> None:
    passages = [(at, min(len(text), at + n)) for at, n in places if at < len(text)]
    shown = excerpt(text, limit, passages)
    assert len(shown.text) <= limit
    assert shown.truncated == (len(text) > limit)
    if shown.truncated and passages and limit >= 200:
        start, end = passages[0]
        assert text[start:end] in shown.text


def test_an_excerpt_shows_head_surroundings_and_tail_and_says_what_is_missing() -> None:
    text = "HEAD " + "a" * 5000 + " before MATCH after " + "b" * 5000 + " TAIL"
    at = text.index("MATCH")
    shown = excerpt(text, 2000, [(at, at + 5)])
    assert shown.text.startswith("HEAD ")
    assert " before MATCH after " in shown.text
    assert shown.text.endswith(" TAIL")
    assert shown.text.count("characters left out") == 2
    left_out = sum(int(word) for word in shown.text.split() if word.isdigit())
    kept_chars = len(shown.text) - 2 * len("\n[... 9999 characters left out ...]\n")
    assert left_out + kept_chars == len(text)


def test_what_checks_look_for_in_a_file() -> None:
    checks = (
        PatternCheck(pattern="^sum: 5$", path="a.md"),
        PatternCheck(pattern="other", path="b.md"),
        PatternCheck(pattern="answer"),
        CommandCheck(command="grep -q 'total: 12' a.md"),
        CommandCheck(command="grep -q nothing b.md"),
    )
    assert patterns_for("a.md", checks) == ("^sum: 5$",)
    text = "xx total: 12 yy nothing"
    assert [text[start:end] for start, end in quoted_passages("a.md", text, checks)] == [
        "total: 12"
    ]
