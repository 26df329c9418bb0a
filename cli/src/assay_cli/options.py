"""Options that mean the same in every command."""

from pathlib import Path
from typing import Annotated

import typer

from assay_cli.connection import TOKEN_VARIABLE, URL_VARIABLE
from assay_contracts.reports import Language

Url = Annotated[
    str | None,
    typer.Option(
        envvar=URL_VARIABLE,
        help="Address of an Assay; the file's, or the one on this machine, by default.",
    ),
]
Token = Annotated[
    str | None, typer.Option(envvar=TOKEN_VARIABLE, help="Admin token for that address.")
]
ReadersLanguage = Annotated[
    Language,
    typer.Option(
        "--language", envvar="ASSAY_LANGUAGE", help="Language of what is written to be read."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether I am sure.")]
Skill = Annotated[str, typer.Argument(metavar="SKILL", help="A skill's name or id.")]
Page = Annotated[int, typer.Option(min=1, help="Which page to show.")]
Size = Annotated[int, typer.Option(min=1, max=100, help="How many to show on a page.")]


Data = Annotated[
    Path | None,
    typer.Option(
        file_okay=False, help="Folder that keeps everything; ~/.local/share/assay by default."
    ),
]
SkillSource = Annotated[
    Path, typer.Argument(metavar="PATH", help="A skill's folder, or a zip of one.")
]
