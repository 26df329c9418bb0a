"""What work that failed has cost is in its result."""

import asyncio
from uuid import uuid4

from assay_contracts.base import Failure, ModelUse, Result
from assay_contracts.validations import CleanupFinished
from assay_servicekit.spending import costs_told, tell_costs, with_costs


def a_use(calls: int) -> ModelUse:
    return ModelUse(role="grader", model="x:y", prompt_version="1", calls=calls, seconds=0)


def failed(costs: tuple[ModelUse, ...] | None = None) -> Result:
    failure = Failure.of("internal", "it broke", costs=costs)
    return CleanupFinished(validation_id=uuid4(), step_id="s", attempt=1, failure=failure)


async def test_whatever_is_told_by_what_was_started_meanwhile_is_in_a_failed_result() -> None:
    counted = [0]

    async def work() -> None:
        tell_costs(lambda: a_use(counted[0]))
        tell_costs(lambda: a_use(0))
        counted[0] = 3

    with costs_told() as told:
        task = asyncio.ensure_future(work())
    tell_costs(lambda: a_use(99))  # nobody asks for this one
    await task
    result = with_costs(failed(), told)
    assert result.failure is not None
    assert result.failure.costs == (a_use(3),)


def test_a_result_that_says_so_itself_stays_as_it_is() -> None:
    for result in (failed(costs=(a_use(1),)), failed().model_copy(update={"failure": None})):
        assert with_costs(result, [lambda: a_use(5)]) == result
