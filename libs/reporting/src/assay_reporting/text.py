import unicodedata

LINE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def one_line(text: str, longest: int | None = None) -> str:
    """`text` without anything that could steer a terminal, on one line, shortened to `longest`.

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
