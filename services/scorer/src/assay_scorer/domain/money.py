"""What tokens cost, and how much a validation may cost."""

from collections.abc import Mapping

from pydantic import Field

from assay_contracts.base import Model, ModelUse
from assay_contracts.costs import Price


class MoneyRules(Model):
    """The prices of a deployment and its bound."""

    budget: float | None = None
    """None means no bound."""
    currency: str = "USD"
    prices: Mapping[str, Price] = Field(default_factory=dict)
    """By `provider:model`."""

    def of(self, use: ModelUse) -> float | None:
        """What this use cost; None when its model has no price."""
        if use.is_rehearsal:
            return 0.0
        price = self.prices.get(use.model)
        return None if price is None else price.of(use)

    def tokens_for(self, money: float) -> int | None:
        """The most tokens that so much can buy; None when nothing has a price."""
        cheapest = min((price.input for price in self.prices.values() if price.input), default=None)
        return None if cheapest is None else int(max(0.0, money) * 1_000_000 / cheapest)
