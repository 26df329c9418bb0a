"""The `assay` command."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

import typer
from typer.core import TyperGroup

from assay_cli.config import URL_VARIABLE, configured, connection, data_folder
from assay_cli.interface.config import config
from assay_cli.interface.full_test import full_test
from assay_cli.interface.images import images
from assay_cli.interface.options import Json, Skill, Token, Url
from assay_cli.interface.skills import skills
from assay_cli.outcome import CommandError, Exit, Interrupted


class Commands(TyperGroup):
    """Ends as inconclusive when nobody reads what is printed; Typer would end with 1, failed."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        with _for_a_reader():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _for_a_reader():
            return super().invoke(ctx)


@contextmanager
def _for_a_reader() -> Iterator[None]:
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError as error:
        _point_nowhere(sys.stdout)
        raise CommandError(
            "Whoever read the output went away before its end: the exit code says nothing of a"
            " skill.",
            Exit.INCONCLUSIVE,
        ) from error


def _point_nowhere(stream: TextIO) -> None:
    """What is left in its buffer would break the pipe once more when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Decide whether an agent skill may be handed to agents.",
)


Data = Annotated[
    Path | None,
    typer.Option(
        file_okay=False, help="Folder that keeps everything; ~/.local/share/assay by default."
    ),
]


@app.command(short_help="Run the whole stack here.")
def up(
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port of the REST API on the loopback.")
    ] = 8002,
    data: Data = None,
) -> None:
    """Run the bus, the database and the five services here, supervised, until Ctrl-C."""
    from assay_cli.commands.up import up  # noqa: PLC0415

    up(port=port, data=data_folder(data))


@app.command(short_help="Validate a skill.")
def validate(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A skill's folder, or a zip of one.")
    ],
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON, and nothing else.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the Markdown report to this file.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the tasks as JUnit to this file.")
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            envvar="GITHUB_STEP_SUMMARY",
            help="Add the verdict, as a few lines of Markdown, to this file.",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            envvar=URL_VARIABLE,
            help="Address of a running Assay; the file's, or else a private one, by default.",
        ),
    ] = None,
    token: Token = None,
    private: Annotated[
        bool, typer.Option("--private", help="On a stack of its own, whatever is configured.")
    ] = False,
) -> None:
    """Validate a skill. The exit code says how: 0 passed, 1 failed, 2 bad input, 3 inconclusive."""
    from assay_cli.commands.validate import Validation, validate  # noqa: PLC0415

    raise typer.Exit(
        validate(
            Validation(
                source=path,
                as_json=as_json,
                report_file=report,
                junit_file=junit,
                summary_file=summary,
                elsewhere=None if private else configured(url, token),
            )
        )
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


@app.command(short_help="Read the report on a skill.")
def report(
    skill: Skill,
    form: Annotated[
        Literal["card", "json", "markdown", "html", "junit"],
        typer.Option("--format", "-f", help="A score card, or a form of the whole report."),
    ] = "card",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", dir_okay=False, help="Write it to this file.")
    ] = None,
    url: Url = None,
    token: Token = None,
) -> None:
    """Read the report on the newest validation of a skill."""
    from assay_cli.commands.report import report  # noqa: PLC0415

    raise typer.Exit(report(connection(url, token), skill, form=form, output=output))


@app.command(short_help="Follow what happens.")
def events(
    *,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", "-t", help="Only these, for example validation.completed."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Begin after the event with this id; 0 shows all there are.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="End after that many; by default go on for ever.")
    ] = None,
    bus: Annotated[
        str | None,
        typer.Option(help="Listen on the bus itself, at the address `assay up` prints."),
    ] = None,
    as_json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Follow public facts as they happen, a line each; what was missed comes after a break."""
    from assay_cli.commands.events import Following, follow_bus, follow_gateway  # noqa: PLC0415

    asked = Following(types=tuple(types or ()), since=since, count=count, as_json=as_json)
    if bus is not None:
        raise typer.Exit(follow_bus(bus, asked))
    raise typer.Exit(follow_gateway(connection(url, token), asked))


app.add_typer(skills, name="skills")
app.add_typer(full_test, name="full-test")
app.add_typer(images, name="images")
app.add_typer(config, name="config")


@app.command(short_help="Make a token for the stack here.")
def token(
    name: Annotated[
        str, typer.Option(help="Who will show it; the audit log names them so.")
    ] = "admin",
    ttl: Annotated[
        str, typer.Option(metavar="TIME", help="How long it is valid: 90s, 30m, 1h, 7d.")
    ] = "1h",
    role: Annotated[
        Literal["admin", "none"], typer.Option(help="What it allows; `none` is refused with 403.")
    ] = "admin",
    data: Data = None,
) -> None:
    """Print a signed token for the stack in the data folder, whether it runs now or later."""
    from assay_cli.commands.token import Wanted, token  # noqa: PLC0415

    raise typer.Exit(token(Wanted(data=data_folder(data), name=name, ttl=ttl, role=role)))


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
    try:
        sys.stderr.write("\n".join((f"assay: {' '.join(message.split())}", *details)) + "\n")
    except BrokenPipeError:
        _point_nowhere(sys.stderr)


if __name__ == "__main__":
    main()
