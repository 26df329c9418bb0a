"""How far a validation has come, and how long each step took, from the statuses seen so far."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, get_args

from assay_contracts.rpc import SkillStatusView
from assay_contracts.skills import ENDED_STAGES
from assay_contracts.validations import ProgressStep
from assay_reporting.text import one_line

STEPS: Final[tuple[ProgressStep, ...]] = tuple(
    step for step in get_args(ProgressStep) if step not in {"queued", "done"}
)
TITLES: Final[dict[ProgressStep, str]] = {
    "queued": "waiting for its turn",
    "planning": "writing tasks",
    "online_run": "online run",
    "online_grading": "grading the online run",
    "offline_run": "offline run",
    "offline_grading": "grading the offline run",
    "repeating": "repeating what could turn out otherwise",
    "regression": "testing the approved skills again",
    "mending": "trying other versions of packages",
    "reporting": "writing the report",
    "done": "done",
}
LONGEST_DETAIL: Final = 160


@dataclass(frozen=True, slots=True)
class StepLine:
    title: str
    state: Literal["to come", "under way", "done", "left out"]
    seconds: float | None
    detail: str


class StepTimes:
    def __init__(self, now: Callable[[], float]) -> None:
        """`now` gives seconds of a clock that only goes forward."""
        self._now = now
        self._start = now()
        self._began: dict[ProgressStep, float] = {}
        self._took: dict[ProgressStep, float] = {}
        self._current: ProgressStep | None = None
        self._ended = False
        self.detail = ""

    def see(self, status: SkillStatusView) -> None:
        """Take a status in. One that repeats the last, or comes late, changes nothing."""
        self.detail = _detail(status)
        self._ended = status.validation_stage in ENDED_STAGES
        step: ProgressStep | None = "done" if self._ended else status.step
        if step is None or step == self._current or step in self._took:
            return
        if self._current is not None:
            self._took[self._current] = self._now() - self._began[self._current]
        self._current = step
        self._began[step] = self._now()

    @property
    def current(self) -> ProgressStep | None:
        return self._current

    def elapsed_s(self) -> float:
        return self._now() - self._start

    def seconds_of(self, step: ProgressStep) -> float | None:
        """How long it took, or has taken so far; None when it was not seen."""
        if step in self._took:
            return self._took[step]
        return self._now() - self._began[step] if step in self._began else None

    def lines(self) -> tuple[StepLine, ...]:
        return tuple(self._line(step) for step in STEPS)

    def _line(self, step: ProgressStep) -> StepLine:
        title, seconds = TITLES[step], self.seconds_of(step)
        if step == self._current:
            return StepLine(title, "under way", seconds, self.detail)
        if step in self._took:
            return StepLine(title, "done", seconds, "")
        return StepLine(title, "left out" if self._is_past(step) else "to come", None, "")

    def _is_past(self, step: ProgressStep) -> bool:
        order: tuple[ProgressStep, ...] = get_args(ProgressStep)
        return self._current is not None and order.index(step) < order.index(self._current)


def _detail(status: SkillStatusView) -> str:
    detail = one_line(status.detail, LONGEST_DETAIL)
    # Some steps have nothing to tell but their own name.
    return "" if detail in {status.step, (status.step or "").replace("_", " ")} else detail
