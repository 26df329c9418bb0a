from datetime import timedelta
from pathlib import Path

from pydantic import Field, SecretStr

from assay_contracts.costs import Price
from assay_contracts.reports import DependencyMode, RegressionMode
from assay_scorer.domain.admission import AdmissionRules
from assay_scorer.domain.money import MoneyRules
from assay_servicekit.settings import ServiceSettings


class Settings(ServiceSettings):
    database_url: SecretStr = Field(validation_alias="DATABASE_URL")
    """Address of the database, `postgresql+asyncpg://user:password@host/database`."""
    max_active: int = Field(default=5, ge=1, validation_alias="ASSAY_MAX_ACTIVE_VALIDATIONS")
    """Validations under way at once; more wait in the queue. Full tests are counted apart."""
    max_full_test_skills: int = Field(
        default=5, ge=1, validation_alias="ASSAY_MAX_FULL_TEST_SKILLS"
    )
    """Skills of a full test under way at once, beside the active validations."""
    reconcile_every_s: float = Field(default=10.0, gt=0, validation_alias="ASSAY_RECONCILE_EVERY_S")
    """Seconds between two looks for work that went quiet and validations that are out of time."""
    validation_tokens: int | None = Field(
        default=2_000_000, ge=1, validation_alias="ASSAY_VALIDATION_TOKENS"
    )
    """Tokens that models may use for one validation, read and written together."""
    dependency_mode: DependencyMode = Field(
        default="lenient", validation_alias="ASSAY_DEPENDENCY_MODE"
    )
    """What undeclared packages do: `lenient` warns of them, `strict` fails the validation."""
    control: bool = Field(default=True, validation_alias="ASSAY_CONTROL")
    """Whether the tasks are tried without the skill too, where an LLM takes part."""
    min_lift: float | None = Field(default=None, validation_alias="ASSAY_MIN_LIFT")
    """What a skill has to add to pass, in grades of 1 to 5; none means that nothing is demanded."""
    repeats: int = Field(default=2, ge=0, le=10, validation_alias="ASSAY_REPEATS")
    """How often tasks are repeated where an LLM takes part: if that could change the verdict, and
    in every full test. The median counts, so that an even number is best; 0 repeats nothing."""
    regression: RegressionMode = Field(default="changed", validation_alias="ASSAY_REGRESSION")
    """Which approved skills are run again with a new one: `changed` runs those whose result rests
    on something that changed and lets the others stand, `all` runs every one of them always."""
    validation_money: float | None = Field(
        default=None, gt=0, validation_alias="ASSAY_VALIDATION_MONEY"
    )
    """What models may cost for one validation, in the currency of the prices; none means no bound.
    Once it is spent nothing more is asked, and a verdict that does not stand is `inconclusive`."""
    model_prices: dict[str, Price] = Field(default={}, validation_alias="ASSAY_MODEL_PRICES")
    """What a million tokens cost, as JSON by `provider:model`:
    `{"openai:gpt-5": {"input": 1.25, "cached": 0.125, "output": 10}}`."""
    currency: str = Field(default="USD", max_length=10, validation_alias="ASSAY_CURRENCY")
    """The currency of the prices, as reports name it."""
    keep_days: int = Field(default=90, ge=1, validation_alias="ASSAY_KEEP_DAYS")
    """Days that traces and reports of a validation are kept after a newer one replaced it."""

    signing_key_file: Path | None = Field(default=None, validation_alias="ASSAY_SIGNING_KEY_FILE")
    """Ed25519 private key in PEM that verdicts are signed with; none means that they are not."""

    @property
    def keep(self) -> timedelta:
        return timedelta(days=self.keep_days)

    @property
    def admission_rules(self) -> AdmissionRules:
        return AdmissionRules(
            max_active=self.max_active,
            max_full_test_skills=self.max_full_test_skills,
            token_budget=self.validation_tokens,
            dependency_mode=self.dependency_mode,
            control=self.control,
            min_lift=self.min_lift,
            regression_mode=self.regression,
            repeats=self.repeats,
            money=MoneyRules(
                budget=self.validation_money, currency=self.currency, prices=self.model_prices
            ),
        )
