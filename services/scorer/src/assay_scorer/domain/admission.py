"""How many validations may start: fresh uploads and full tests each have places of their own."""

from dataclasses import dataclass, field

from assay_contracts.reports import DependencyMode, RegressionMode
from assay_scorer.domain.money import MoneyRules


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderWay:
    """How many are under way."""

    validations: int
    """Full tests apart."""
    full_test_skills: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRules:
    max_active: int
    max_full_test_skills: int = 5
    """Apart from `max_active`: a fresh upload never waits behind a full test."""
    token_budget: int | None = None
    """What models may use for one validation; none means no bound."""
    dependency_mode: DependencyMode = "lenient"
    control: bool = True
    """Whether the tasks are tried without the skill too, where an LLM takes part."""
    min_lift: float | None = None
    """What a skill has to add to pass, in grades; none means that nothing is demanded."""

    money: MoneyRules = field(default_factory=MoneyRules)
    regression_mode: RegressionMode = "changed"
    repeats: int = 2
    """How often tasks may be repeated where that could change the verdict."""

    def room(self, under_way: UnderWay) -> int:
        """How many more validations may start."""
        return max(0, self.max_active - under_way.validations)

    def room_in_full_test(self, under_way: UnderWay) -> int:
        """How many more skills of a full test may start."""
        return max(0, self.max_full_test_skills - under_way.full_test_skills)
