"""The report as one HTML page that needs nothing else.

Its words are those of the Markdown, whose renderer is the one owner of what a report says; the
page adds the score as a picture. Whatever came from a skill is text there and stays text here:
markup in it is not parsed, and a policy lets no script, image or address of it do anything.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from assay_contracts.reports import Language, Report
from assay_contracts.scores import Scores
from assay_reporting.language import phrase, speaking
from assay_reporting.view import ScoreRow, overall_row, score_rows

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c2430;--paper:#fff;--line:#d5dae1;--soft:#f4f6f8;
--good:#18794e;--bad:#b42318;--unsure:#8a5a00;--bar:#2f6fde}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--paper:#14181e;--line:#343b46;--soft:#1d232b;
--good:#5bd39a;--bad:#ff8a80;--unsure:#f0b95a;--bar:#6ea1ff}}
body{margin:0 auto;max-width:62rem;padding:2rem 1rem;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem}h2{margin-top:2.2rem;border-bottom:1px solid var(--line)}
table{border-collapse:collapse;width:100%}
th,td{border:1px solid var(--line);padding:.35rem .6rem;text-align:left}
.right{text-align:right}th{background:var(--soft)}
code{background:var(--soft);padding:0 .25rem;border-radius:3px}
.passed h1{color:var(--good)}.failed h1{color:var(--bad)}.inconclusive h1{color:var(--unsure)}
svg{max-width:100%;height:auto}svg text{fill:var(--ink);font:14px system-ui,sans-serif}
.track{fill:var(--soft)}.bar{fill:var(--bar)}
"""
POLICY: Final = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; "
    f"style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
)
"""Content-Security-Policy of the page, as its meta element says it too."""
HEADER_POLICY: Final = f"{POLICY}; frame-ancestors 'none'; sandbox"
"""As the answer's header says it: a meta element may not say all of this."""

_MARKDOWN: Final = (
    MarkdownIt("commonmark", {"html": False})
    .enable("table")
    .disable(["link", "image", "autolink", "html_inline", "html_block", "reference"])
)
_LANGUAGE_TAG: Final[dict[Language, str]] = {"en": "en", "zh": "zh-Hans"}
_POINT_PX: Final = 4
_ROW_PX: Final = 28


def render_html(report: Report, markdown: str, language: Language = "en") -> str:
    """The page for a report whose Markdown was made before, and is what has to be shown."""
    tokens = _MARKDOWN.parse(markdown)
    _align_by_class(tokens)
    with speaking(language):
        heading = escape(f"{report.skill_name}: {phrase(report.verdict)}")
        picture = _picture(report.scores)
    return (
        f'<!doctype html>\n<html lang="{_LANGUAGE_TAG[language]}">\n<head>\n'
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{STYLE}</style>\n</head>\n"
        f'<body class="{report.verdict}">\n{picture}'
        f"<main>\n{_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})}</main>\n"
        "</body>\n</html>\n"
    )


def _align_by_class(tokens: list[Token]) -> None:
    """The policy allows no style attributes, which is how the parser aligns cells."""
    for token in tokens:
        if token.attrs.pop("style", None) == "text-align:right":
            token.attrs["class"] = "right"


def _picture(scores: Scores | None) -> str:
    if scores is None:
        return ""
    rows = (overall_row(scores), *score_rows(scores))
    bars = "".join(_bar(index * _ROW_PX, row) for index, row in enumerate(rows))
    spoken = ", ".join(f"{row.name} {row.text}" for row in rows)
    return (
        f'<svg role="img" viewBox="0 0 600 {len(rows) * _ROW_PX}" width="600" '
        f'aria-label="{phrase("Scores: {scores}", scores=spoken)}">{bars}</svg>\n'
    )


def _bar(top: int, row: ScoreRow) -> str:
    width = 0 if row.value is None else round(row.value * _POINT_PX)
    return (
        f'<text x="0" y="{top + 18}">{row.name}</text>'
        f'<rect class="track" x="110" y="{top + 4}" width="{100 * _POINT_PX}" height="18" rx="4"/>'
        f'<rect class="bar" x="110" y="{top + 4}" width="{width}" height="18" rx="4"/>'
        f'<text x="{120 + 100 * _POINT_PX}" y="{top + 18}">{row.text}</text>'
    )
