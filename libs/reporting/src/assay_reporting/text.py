"""Words from skills, sandboxes and models, made harmless for where they are shown."""

import json
import re
import unicodedata
from typing import Final

LINE_CATEGORIES: Final = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_MARKDOWN: Final = re.compile(r"[\\`*_{}\[\]<>#|!~]")
_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def one_line(text: str, longest: int | None = None) -> str:
    """For a terminal: one line, without anything that could steer it, shortened to `longest`.

    What a skill wrote is shown to people; it must not move their cursor or hide its own words.
    """
    plain = "".join(
        " " if unicodedata.category(character) in LINE_CATEGORIES else character
        for character in text
    )
    line = " ".join(plain.split())
    if longest is not None and len(line) > longest:
        return line[: longest - 1].rstrip() + "…"
    return line


def escaped_json(document: str) -> str:
    """The same JSON, with an escape for all that could steer a terminal or turn its text round.

    Such characters stand in strings only: what is no string in JSON is ASCII.
    """
    return "".join(
        _json_escape(character)
        if not character.isascii() and unicodedata.category(character) in LINE_CATEGORIES
        else character
        for character in document
    )


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1]


def visible(text: str) -> str:
    """For a terminal: its lines as they are, with a mark for all that could steer it."""
    return "".join(
        "\ufffd"
        if character not in "\n\t" and unicodedata.category(character) in LINE_CATEGORIES
        else character
        for character in text
    )


def quoted(text: str, limit: int = 300) -> str:
    """For Markdown: one line, all visible, no markup, at most `limit` characters of the text."""
    line = " ".join(text.split())
    line = "".join(sign if sign.isprintable() else "\ufffd" for sign in line)
    line = line if len(line) <= limit else f"{line[: limit - 1]}…"
    return escaped(line, _MARKDOWN)


def escaped(line: str, markup: re.Pattern[str]) -> str:
    """With a backslash before every character that means something."""
    return markup.sub(r"\\\g<0>", line)


def xml_text(text: str) -> str:
    """For XML: without the characters that it cannot hold, escaped or not."""
    return _NOT_IN_XML.sub("\ufffd", text)
