"""One reader of shell commands: where they end, what they are made of, which paths they touch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_skillkit.shell.blocks import block_commands
from assay_skillkit.shell.lexer import command_end, fragments
from assay_skillkit.shell.paths import paths_used
from assay_skillkit.shell.shapes import ShapeReader

PIECES = st.sampled_from(
    (
        *("a", " ", "\n", "'", '"', "\\", "#", "|", "&&", ";", "(", ")", "<", ">", "<<", "<<<"),
        *(
            "<<EOF",
            "<<-'E'",
            "EOF",
            "\nEOF\n",
            "[",
            "]",
            "<file.csv>",
            "[--x]",
            "$x",
            "`",
            "=",
            "é",
        ),
        *("for", "do", "done", "if", "fi", "\t", "\r", "\u00a0"),
    )
)


@given(st.lists(PIECES | st.text(max_size=3), max_size=30), st.booleans())
def test_fragments_hold_every_character_once(pieces: list[str], notation: bool) -> None:
    text = "".join(pieces)

    found = list(fragments(text, notation=notation))

    assert "".join(fragment.text for fragment in found) == text
    assert 0 <= command_end(text) <= len(text)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("ls\npwd", "ls"),
        ("a |\nb\nc", "a |\nb"),
        ("a # b |\nc", "a # b |"),
        ("cat <<< word\nls", "cat <<< word"),
        ("echo $((1<<2))\nls", "echo $((1<<2))"),
        ("cat <<A <<B\na\nA\nb\nB\nls", "cat <<A <<B\na\nA\nb\nB"),
        ("cat <<A\nnever ends", "cat <<A\nnever ends"),
        ("x | while read y; do\n  echo done\ndone\nls", "x | while read y; do\n  echo done\ndone"),
        ("echo for\nls", "echo for"),
        ("echo 'it is\nopen", "echo 'it is\nopen"),
    ],
)
def test_where_a_command_ends(text: str, command: str) -> None:
    assert text[: command_end(text)] == command


@pytest.mark.parametrize(
    ("lines", "commands"),
    [
        (['echo "a # b"'], [('echo "a # b"', "")]),
        (["ls #all"], [("ls", "all")]),
        (["me@host:~/x$ ls", "a", "% pwd", "❯ id"], [("ls", ""), ("pwd", ""), ("id", "")]),
        (["$ # all of them", "$ ls"], [("ls", "all of them")]),
        (["(venv) $ ls"], [("ls", "")]),
        (["$ cat \\", ">   x", "shown"], [("cat x", "")]),
    ],
)
def test_commands_of_a_block(lines: list[str], commands: list[tuple[str, str]]) -> None:
    assert [(each.command, each.comment) for each in block_commands(lines)] == commands


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat a # b", ["/w/a"]),
        ("echo '&&' a", ["/w/&&", "/w/a"]),
        ("python3 x.py \\\n  --in=y", ["/w/x.py", "/w/y"]),
        ("cat <<EOF | python3 - z\n/a/b\nEOF", ["/w/z"]),
        ("python3 - <<EOF | cat z\nopen('/a/b')\nEOF", ["/a/b", "/w/z"]),
        ("cat 技能/a données/b", ["/w/技能/a", "/w/données/b"]),
        ("cat a 'open", ["/w/a"]),
    ],
)
def test_paths_that_a_command_touches(command: str, paths: list[str]) -> None:
    assert [use.path for use in paths_used(command, "/w")] == paths


@pytest.mark.parametrize(
    "command",
    [
        "python -c 'print(1)\nprint(2)'",
        "[ -f a.csv ] && python scripts/x.py a.csv",
        "cat <<EOF > note.txt\nhello\nEOF",
        "a\\ b.csv | c; d && e",
    ],
)
def test_a_command_without_notation_is_rendered_as_it_is(command: str) -> None:
    shape = ShapeReader(skill_name="x", skill_files=()).shape_of(command)

    assert shape.render({}, skill_root="/s").replace("/s/", "") == command
