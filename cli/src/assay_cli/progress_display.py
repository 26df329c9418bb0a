"""Shows on standard error how a validation goes on: a live table, or a line for each change."""

import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from assay_cli.printing import console
from assay_cli.step_times import TITLES, StepTimes
from assay_contracts.rpc import SkillStatusView

MARKS: Final = {"to come": "·", "done": "✓", "left out": "–"}
REFRESHES_PER_S: Final = 8


class Progress(AbstractContextManager["Progress"], Protocol):
    def notice(self, text: str) -> None:
        """Say something that is not about a step."""

    def see(self, status: SkillStatusView) -> None: ...


class PlainProgress:
    """A line on standard error for each change."""

    def __init__(self) -> None:
        self._steps: StepTimes | None = None
        self._said: tuple[object, str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def notice(self, text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def see(self, status: SkillStatusView) -> None:
        if self._steps is None:
            self._steps = StepTimes(time.monotonic)
        before = self._steps.current
        self._steps.see(status)
        now = self._steps.current
        if before is not None and now != before:
            took = self._steps.seconds_of(before)
            self._line(f"{TITLES[before]}: done in {took:.1f} s")
        said = (now, self._steps.detail)
        if now not in {None, "done"} and said != self._said:
            detail = f": {self._steps.detail}" if self._steps.detail else ""
            self._line(f"{TITLES[now]}{detail}")
        self._said = said

    def _line(self, text: str) -> None:
        assert self._steps is not None
        self.notice(f"{self._steps.elapsed_s():6.1f} s  {text}")


class LiveProgress:
    """A table that changes in place, with a row for each step."""

    def __init__(self, console: Console) -> None:
        self._steps: StepTimes | None = None
        self._spinner = Spinner("dots")
        self._live = Live(
            console=console, get_renderable=self._table, refresh_per_second=REFRESHES_PER_S
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def notice(self, text: str) -> None:
        self._live.console.print(Text(text))

    def see(self, status: SkillStatusView) -> None:
        if self._steps is None:
            self._steps = StepTimes(time.monotonic)
        self._steps.see(status)

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for line in self._steps.lines() if self._steps else ():
            table.add_row(
                self._spinner if line.state == "under way" else Text(MARKS[line.state]),
                Text(line.title, style="bold" if line.state == "under way" else ""),
                Text("" if line.seconds is None else f"{line.seconds:.1f} s"),
                Text(line.detail, style="dim"),
            )
        return table


def progress_on_stderr() -> Progress:
    """The table where a person watches, lines elsewhere."""
    screen = console(stderr=True)
    return LiveProgress(screen) if screen.is_terminal else PlainProgress()
