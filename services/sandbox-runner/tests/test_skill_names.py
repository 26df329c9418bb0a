"""A skill may be named in any script, whatever the sandbox calls its own things."""

from pathlib import Path

import pytest

from assay_contracts.runs import RunFinished
from assay_contracts.tasks import FileCheck
from assay_sandboxes.conformance.under_test import Kit
from assay_testkit.runner import MANUAL, VALIDATION, Runner, a_run, a_task


@pytest.fixture(params=["bubblewrap", "daytona"])
def kit(request: pytest.FixtureRequest) -> Kit:
    given: Kit = request.getfixturevalue(request.param)
    return given


@pytest.mark.parametrize("name", ["données-csv", "技能", "技" * 64], ids=["accent", "han", "long"])
async def test_a_skill_of_that_name_is_found_and_used(name: str, kit: Kit, tmp_path: Path) -> None:
    runner = Runner(kit.provider, tmp_path / "runner")
    skill = runner.store.add_skill(name, MANUAL.replace("word-counter", name))
    run = a_run("regression", skill, tasks=(a_task("t1", FileCheck(path="report.txt")),))

    result = await runner.use_case()(
        run.model_copy(update={"step_id": f"{VALIDATION}.regression.{name}"})
    )

    assert isinstance(result, RunFinished)
    assert result.failure is None
    (outcome,) = result.outcomes
    assert all(check.passed for check in outcome.checks), outcome.checks
    assert [(use.skill, use.kind) for use in outcome.skills_used] == [(name, "read"), (name, "run")]
