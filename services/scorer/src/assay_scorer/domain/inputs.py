"""What the conductor takes in: results of workers, and what happens to a validation otherwise."""

from assay_contracts.base import Model
from assay_contracts.grades import RunGraded
from assay_contracts.reports import DependencyMode, RegressionMode, ReportWritten
from assay_contracts.runs import RunFinished
from assay_contracts.validations import ValidationPlanned
from assay_scorer.domain.environment import Environment
from assay_scorer.domain.money import MoneyRules


class Admitted(Model):
    """There is room for this validation to start."""

    token_budget: int | None = None
    """What models may use for it; none means no bound."""
    environment: Environment = Environment()
    dependency_mode: DependencyMode = "lenient"
    control: bool = False
    """Whether the tasks are tried without the skill too, where an LLM takes part."""
    min_lift: float | None = None
    """What a skill has to add to pass, in grades; none means that nothing is demanded."""
    money: MoneyRules = MoneyRules()
    repeats: int = 0
    """How often tasks may be repeated where that could change the verdict."""
    regression_mode: RegressionMode = "changed"
    """Which approved skills are run in layer 2: those for which something changed, or all."""


class Cancelled(Model):
    """Somebody wants it to end, or did something that ends it."""

    why: str
    """`Cancelled by ann`."""


class WentQuiet(Model):
    """This work is no longer on the bus and no result came of it."""

    step_id: str
    attempt: int


class DeadlinePassed(Model):
    """The validation, or its report, has used up its time."""


class GivenUp(Model):
    """It is out of time, and what was found in it is more than we can deal with."""


WorkerResult = ValidationPlanned | RunFinished | RunGraded | ReportWritten
ConductorInput = Admitted | Cancelled | WentQuiet | DeadlinePassed | GivenUp | WorkerResult
