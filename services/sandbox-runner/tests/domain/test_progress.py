import pytest

from assay_contracts.runs import RunKind
from assay_sandbox_runner.domain.progress import progress_of
from assay_testkit.runner import a_run, a_task


@pytest.mark.parametrize(
    ("kind", "step"),
    [("online", "online_run"), ("offline", "offline_run"), ("regression", None), ("mending", None)],
)
def test_only_runs_that_a_validation_has_once_are_told_of(kind: RunKind, step: str | None) -> None:
    progress = progress_of(a_run(kind, tasks=(a_task(),)), "half-way", tasks_done=0)

    assert (progress.step if progress else None) == step
