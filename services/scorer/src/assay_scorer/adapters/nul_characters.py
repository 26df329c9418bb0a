"""Text as PostgreSQL can store it: it takes every character but U+0000, which programs may say."""

import json
import re
from typing import Final

_ESCAPE: Final = re.compile(r"\\(?:u0000|.)")


def without_nul(text: str) -> str:
    return text.replace("\0", "\ufffd")


def json_without_nul(value: object) -> str:
    text = json.dumps(value)
    if r"\u0000" not in text:
        return text
    # Escape by escape: after an escaped backslash, the same letters are not one.
    return _ESCAPE.sub(lambda each: r"\ufffd" if each[0] == r"\u0000" else each[0], text)
