"""The `assay` command."""

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from assay_cli.outcome import CommandError, Exit, Interrupted

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Decide whether an agent skill may be handed to agents.",
)


@app.command(short_help="Run the whole stack here.")
def up(
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the REST API on the loopback.")
    ] = 8002,
    data: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="Folder that keeps everything; ~/.local/share/assay by default."
        ),
    ] = None,
) -> None:
    """Run the bus, the database and the five services here, supervised, until Ctrl-C."""
    from assay_cli.commands.up import default_data, up  # noqa: PLC0415

    up(port=port, data=data or default_data())


@app.command(short_help="Validate a skill.")
def validate(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A skill's folder, or a zip of one.")
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON, and nothing else.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the Markdown report to this file.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Address of a running Assay; a private one is started by default."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(envvar="ASSAY_ADMIN_TOKEN", help="Admin token of the Assay at --url."),
    ] = None,
) -> None:
    """Validate a skill. The exit code says how: 0 passed, 1 failed, 2 bad input, 3 inconclusive."""
    from assay_cli.commands.validate import Validation, validate  # noqa: PLC0415

    raise typer.Exit(
        validate(Validation(source=path, as_json=as_json, report_file=report, url=url, token=token))
    )


@app.command(short_help="Check a skill's format.")
def lint(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A skill's folder, or a zip of one.")
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Count warnings as errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    as_sarif: Annotated[
        bool, typer.Option("--sarif", help="Print the findings as SARIF 2.1.0.")
    ] = False,
) -> None:
    """Check a skill's format as an upload would. The exit code: 0 no errors, 1 errors, 2 usage."""
    from assay_cli.commands.lint import Lint, lint  # noqa: PLC0415

    raise typer.Exit(lint(Lint(source=path, strict=strict, as_json=as_json, as_sarif=as_sarif)))


@app.command(short_help="Say what works on this machine.")
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Say what works on this machine, and what to do about what does not."""
    from assay_cli.commands.doctor import doctor  # noqa: PLC0415

    raise typer.Exit(doctor(as_json=as_json))


def main() -> None:
    """Run the command and exit; every failure of ours ends in 3, never in 1."""
    try:
        app()
    except CommandError as error:
        _complain(str(error), error.details)
        sys.exit(error.exit_code)
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)
    except Exception as error:  # noqa: BLE001  # Python's own exit code, 1, would blame the skill
        if os.environ.get("ASSAY_DEBUG"):
            traceback.print_exc()
        _complain(
            f"Unexpected {type(error).__name__}: {error}. This is a defect of Assay:"
            " report it with what ASSAY_DEBUG=1 prints."
        )
        sys.exit(Exit.INCONCLUSIVE)


def _complain(message: str, details: tuple[str, ...] = ()) -> None:
    sys.stderr.write("\n".join((f"assay: {' '.join(message.split())}", *details)) + "\n")


if __name__ == "__main__":
    main()
