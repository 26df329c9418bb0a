"""`assay up`: the embedded stack in the foreground."""

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated

import typer

from assay_cli.commands import single_command
from assay_cli.config_file import data_folder
from assay_cli.connection import TOKEN_VARIABLE, sendable
from assay_cli.embedded.data import DataInUse, Running
from assay_cli.embedded.process import StartFailed
from assay_cli.embedded.stack import Stack
from assay_cli.embedded.supervisor import ProcessEvent
from assay_cli.exit_codes import CommandError, Exit, Interrupted
from assay_cli.options import Data
from assay_cli.printing import say
from assay_cli.signals import run_until_stopped
from assay_contracts.topology import SERVICES
from assay_gateway.settings import MIN_ADMIN_TOKEN

app = single_command()


@app.command()
def up(
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the REST API on the loopback.")
    ] = 8002,
    data: Data = None,
) -> Exit:
    """Run the bus, the database and the five services here, supervised, until Ctrl-C."""
    folder = data_folder(data)
    token = sendable(os.environ.get(TOKEN_VARIABLE))
    if 0 < len(token) < MIN_ADMIN_TOKEN:
        raise CommandError(
            f"{TOKEN_VARIABLE} needs at least {MIN_ADMIN_TOKEN} characters, so that nobody guesses"
            " it: choose a longer one, or leave it out to have one made.",
            Exit.BAD_INPUT,
        )
    try:
        run_until_stopped(_serve(port=port, data=folder, token=token or None))
    except Interrupted:
        say("Stopped.")
    except (DataInUse, StartFailed, OSError) as error:
        raise CommandError(str(error), Exit.INCONCLUSIVE) from error
    return Exit.PASSED


async def _serve(*, port: int, data: Path, token: str | None) -> None:
    began = time.monotonic()
    say(f"Starting Assay in {data} …")
    async with Stack(data, port=port, admin_token=token, on_event=_report) as stack:
        stack.data.announce(Running(stack.url, stack.admin_token))
        say(_greeting(stack, time.monotonic() - began, token_was_given=bool(token)))
        try:
            await asyncio.Event().wait()
        finally:
            say("Stopping …")


def _report(event: ProcessEvent) -> None:
    if line := event.interruption():
        say(f"{time.strftime('%H:%M:%S')} {line}")


def _greeting(stack: Stack, seconds: float, *, token_was_given: bool) -> str:
    token = (
        "the one in ASSAY_ADMIN_TOKEN"
        if token_was_given
        else f"{stack.admin_token}  (kept in {stack.data.secrets_file})"
    )
    rows = [
        ("address", stack.url),
        ("admin token", token),
        ("bus, to read", f"{stack.observer_url}  (subscribe to validation.completed)"),
        ("data and logs", str(stack.data.root)),
        *((f"health, {name}", f"{stack.health_url(name)}/readyz") for name in SERVICES),
        *((f"metrics, {name}", stack.metrics_url(name)) for name in SERVICES),
    ]
    table = "\n".join(f"  {name:<24}{value}" for name, value in rows)
    shown = "$ASSAY_ADMIN_TOKEN" if token_was_given else stack.admin_token
    return (
        f"Assay is ready after {seconds:.1f} s.\n\n{table}\n\n"
        f'Try: curl -H "Authorization: Bearer {shown}" {stack.url}/api/admin/skills\n'
        "Press Ctrl-C to stop."
    )
