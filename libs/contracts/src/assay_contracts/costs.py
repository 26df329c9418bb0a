"""What a validation cost: calls, tokens, time and money, by phase and by role."""

from typing import Literal

from pydantic import Field

from assay_contracts.base import Model, ModelUse

CostPhase = Literal[
    "planning",
    "online",
    "near_misses",
    "grading",
    "offline",
    "repeats",
    "control",
    "regression",
    "mending",
    "reporting",
]
"""What the money was spent on. `grading` is that of the online and the offline run; the other
phases include the grading of what they run."""


class Price(Model):
    """What a million tokens of one model cost, in the currency of the deployment."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    """Of input tokens that the provider had kept; none means as `input`."""

    def of(self, use: ModelUse) -> float:
        """What this use cost; tokens that were only guessed count as input."""
        cached = self.input if self.cached is None else self.cached
        fresh = max(0, use.input_tokens - use.cached_tokens) + use.estimated_tokens
        spent = fresh * self.input + use.cached_tokens * cached + use.output_tokens * self.output
        return spent / 1_000_000


class CostLine(Model):
    """What one role's model cost in one phase."""

    phase: CostPhase
    use: ModelUse
    discarded: bool = False
    """Of attempts whose result was not taken: they failed, or another was first."""
    money: float | None = None
    """None when the model has no price."""


class UnknownCost(Model):
    """Attempts of which nobody can tell the cost: a worker died, or its result was lost."""

    phase: CostPhase
    attempts: int = Field(ge=1)


class CostReport(Model):
    """Everything that models cost until the report was written, discarded attempts included."""

    lines: tuple[CostLine, ...] = ()
    unknown: tuple[UnknownCost, ...] = ()
    currency: str = "USD"
    money: float | None = None
    """All lines together; None where a model that took part has no price."""
    unpriced: tuple[str, ...] = ()
    """Models that took part and have no price, rehearsal apart: it costs nothing."""
    token_budget: int | None = None
    money_budget: float | None = None
    """What the validation was allowed; none means no bound."""

    @property
    def calls(self) -> int:
        return sum(line.use.calls for line in self.lines)

    @property
    def tokens(self) -> int:
        return sum(line.use.tokens for line in self.lines)
