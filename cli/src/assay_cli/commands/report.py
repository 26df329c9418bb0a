"""`assay report`: what is known about a skill, in the form that is asked for."""

import sys
from pathlib import Path
from typing import Literal

from assay_cli.client import AssayClient, ReportForm, parsed, with_client
from assay_cli.config import Connection
from assay_cli.outcome import CommandError, Exit
from assay_cli.output import show
from assay_contracts.reports import Report
from assay_reporting.score_card import render_score_card

Form = ReportForm | Literal["card"]


def report(to: Connection, name_or_id: str, *, form: Form, output: Path | None) -> Exit:
    """Raises CommandError or Interrupted."""
    if form == "card" and output is not None:
        raise CommandError(
            "A score card is for the screen: choose what to write with --format.", Exit.BAD_INPUT
        )

    async def work(client: AssayClient) -> bytes:
        skill_id = await client.skill_id(name_or_id)
        return await client.report(skill_id, "json" if form == "card" else form)

    content = with_client(to, work)
    if form == "card":
        show(render_score_card(parsed(content, Report)))
    elif output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        try:
            output.write_bytes(content)
        except OSError as error:
            raise CommandError(
                f"The report cannot be written: {error}. Name another --output.", Exit.BAD_INPUT
            ) from error
    return Exit.PASSED
