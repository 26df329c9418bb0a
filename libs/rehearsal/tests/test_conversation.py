import pytest
from langchain_core.messages import ToolMessage

from assay_rehearsal.conversation import exit_code, file_text, listed_paths, succeeded


def result(text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id="1")


@pytest.mark.parametrize(
    "above",
    ["@@ lines 1-2 of 2 @@\n", "[The file was cut short.]\n@@ lines 1-2 | next offset 2 @@\n"],
)
def test_what_stands_above_a_file_is_not_the_file(above: str) -> None:
    assert file_text(result(f"{above}one\n@@ two @@\n")) == "one\n@@ two @@\n"


@pytest.mark.parametrize(
    ("shown", "paths"),
    [
        ("['/a', '/b c']", ("/a", "/b c")),
        ("['/a']\n\n[There were too many.]", ("/a",)),
        ("No files found", ()),
        ("{'a': 1}", ()),
    ],
)
def test_only_a_listing_has_paths(shown: str, paths: tuple[str, ...]) -> None:
    assert listed_paths(result(shown)) == paths


def test_a_command_succeeds_by_its_exit_code() -> None:
    ended = result("x").model_copy(update={"artifact": {"exit_code": 1}})
    assert exit_code(ended) == 1
    assert not succeeded(ended)
    assert succeeded(result("x"))
    assert not succeeded(result("x").model_copy(update={"status": "error"}))
