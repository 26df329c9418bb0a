"""The `assay` command: finds what is asked for in `commands`, runs it, and ends as it says."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TextIO

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from assay_cli.commands import COMMANDS
from assay_cli.exit_codes import CommandError, Exit, Interrupted


# Typer exports no types for what its methods take and give: hence `Any`.
class Commands(TyperGroup):
    """Ends as inconclusive when nobody reads what is printed; Typer would end with 1, failed."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        with _somebody_reads():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _somebody_reads():
            return super().invoke(ctx)


class ImportedWhenCalled(TyperCommand):
    """Stands for a command of ours: `assay lint` need not wait for what `assay up` needs."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        assert self.name is not None
        module = import_module(f"assay_cli.commands.{self.name.replace('-', '_')}")
        return get_command(module.app).make_context(*args, **extra)


@contextmanager
def _somebody_reads() -> Iterator[None]:
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


def _end(exit_code: Exit) -> None:
    raise typer.Exit(exit_code)


def _placeholder() -> None:
    """Never called: the command that it stands for is."""


app = typer.Typer(
    cls=Commands,
    result_callback=_end,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Decide whether an agent skill may be handed to agents.",
)
for _name, _short_help in COMMANDS.items():
    app.command(_name, cls=ImportedWhenCalled, short_help=_short_help)(_placeholder)


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
