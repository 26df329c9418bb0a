"""`assay report`: what is known about a skill, in the form that is asked for."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from assay_cli.commands import single_command
from assay_cli.connection import connection
from assay_cli.exit_codes import CommandError, Exit
from assay_cli.gateway_client import GatewayClient, parsed, with_client
from assay_cli.options import ReadersLanguage, Skill, Token, Url
from assay_cli.printing import show
from assay_contracts.reports import Report
from assay_reporting.score_card import render_score_card
from assay_reporting.text import escaped_json, visible

app = single_command()


@app.command()
def report(
    skill: Skill,
    *,
    form: Annotated[
        Literal["card", "json", "markdown", "html", "junit", "attestation"],
        typer.Option("--format", "-f", help="A score card, or a form of the whole report."),
    ] = "card",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", dir_okay=False, help="Write it to this file.")
    ] = None,
    language: ReadersLanguage = "en",
    url: Url = None,
    token: Token = None,
) -> Exit:
    """Read the report on the newest validation of a skill."""
    to = connection(url, token)
    if form == "card" and output is not None:
        raise CommandError(
            "A score card is for the screen: choose what to write with --format.", Exit.BAD_INPUT
        )

    async def work(client: GatewayClient) -> bytes:
        skill_id = await client.skill_id(skill)
        return await client.report(skill_id, "json" if form == "card" else form, language)

    content = with_client(to, work)
    if form == "card":
        show(render_score_card(parsed(content, Report), language))
    elif output is None:
        sys.stdout.buffer.write(_printable(content, form).encode())
        sys.stdout.buffer.flush()
    else:
        _write(output, content)
    return Exit.PASSED


def _printable(content: bytes, form: str) -> str:
    """What a skill wrote is in it: it must not steer the terminal that it is read on."""
    text = content.decode("utf-8", "replace")
    if form in ("json", "attestation"):
        return escaped_json(text)
    return visible(text) if sys.stdout.isatty() else text


def _write(output: Path, content: bytes) -> None:
    try:
        output.write_bytes(content)
    except OSError as error:
        raise CommandError(
            f"The report cannot be written: {error}. Name another --output.", Exit.BAD_INPUT
        ) from error
