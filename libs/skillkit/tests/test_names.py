"""One rule for names, in every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_skillkit.names import SkillName, ascii_label, name_problems, normal_name


@pytest.mark.parametrize("name", ["csv-analyzer", "données-csv", "技能", "a", "7z", "技" * 64])
def test_names_of_any_script(name: str) -> None:
    assert SkillName(name) == name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "is empty"),
        ("Upper", "not in lower case"),
        ("a--b", "two hyphens"),
        ("-a", "starts or ends"),
        ("a b", "characters other than"),
        ("../evil", "characters other than"),
        ("a" * 65, "64 is the most"),
        ("con", "device on Windows"),
        ("donne\u0301es", "normal form"),
        (" a", "normal form"),
    ],
)
def test_what_is_no_name(name: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SkillName(name)


@given(st.text(max_size=70))
def test_a_name_is_safe_as_a_folder_and_in_a_shell(text: str) -> None:
    name = normal_name(text)
    if not list(name_problems(name)):
        assert SkillName(name) == name
        assert not set(name) & set("/\\.'\"`$;&|<>*?!~ \n\0")
        assert len(name.encode()) <= 255


@given(st.text(max_size=40), st.text(max_size=40))
def test_labels_are_ascii_and_tell_texts_apart(one: str, other: str) -> None:
    assert ascii_label(one).isascii()
    assert (ascii_label(one) == ascii_label(other)) == (one == other)


def test_an_ascii_text_is_its_own_label() -> None:
    assert ascii_label("a.regression.csv-analyzer.1") == "a.regression.csv-analyzer.1"
