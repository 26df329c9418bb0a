"""What an executing agent did about one task. Pure."""

from dataclasses import dataclass

from assay_contracts.runs import Bound, TraceStep


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDone:
    """What an agent did about a task, whether it finished or hit a bound."""

    steps: tuple[TraceStep, ...]
    answer: str
    bounds_hit: tuple[Bound, ...]

    @property
    def output(self) -> str:
        """What the agent's commands printed, then its answer."""
        printed = (step.output for step in self.steps if step.tool == "execute" and not step.failed)
        return "\n".join((*printed, self.answer))
