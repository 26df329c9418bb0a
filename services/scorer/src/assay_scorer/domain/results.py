"""Results of approved skills that stand as long as nothing they rest on has changed."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from assay_contracts.base import Model
from assay_contracts.grades import RunGraded
from assay_contracts.reports import RegressionCause, RegressionTask
from assay_contracts.runs import Package, RunFinished
from assay_contracts.tasks import Task

_SHORT: Final = 16


class ResultKey(Model):
    """What a result of an approved skill rests on."""

    bundle: str
    """sha256 of the skill's revision."""
    tasks: str
    """Digest of its stored tasks."""
    environment: str
    """Digest of what the tasks were done in."""
    models: tuple[str, ...]
    """Who did them, and who graded."""
    prompts: tuple[str, ...]
    """Versions of their prompts, and of the rubric."""
    neighbours: tuple[str, ...]
    """Rivals that agents saw beside it, each with a digest of its description."""

    @property
    def digest(self) -> str:
        return _digest(self.model_dump(mode="json"))


class StoredResult(Model):
    """How an approved skill fared, for that key."""

    skill_id: UUID
    key: ResultKey
    validation_id: UUID
    """Where it was tested."""
    at: datetime
    tasks: tuple[RegressionTask, ...]

    @property
    def passed(self) -> bool:
        return all(task.completed for task in self.tasks)


def tasks_digest(tasks: Sequence[Task]) -> str:
    return _digest([task.model_dump(mode="json") for task in tasks])


def environment_found(run: RunFinished) -> str:
    """Digest of what a run started from."""
    if run.sandbox is not None and run.sandbox.environment is not None:
        return run.sandbox.environment
    return _packages_digest(run, run.packages_before)


def environment_left(run: RunFinished) -> str:
    """Digest of what a run leaves: that of what it started from, where nothing was installed."""
    if run.sealed is not None:
        return run.sealed.digest
    if _versions(run.packages_before) == _versions(run.packages_after):
        return environment_found(run)
    return _packages_digest(run, run.packages_after)


def _packages_digest(run: RunFinished, packages: Iterable[Package]) -> str:
    """Where no lock is told: of who provides the sandbox, and all that is installed."""
    kind = run.sandbox.kind if run.sandbox else ""
    return _digest([kind, *_versions(packages)])


def _versions(packages: Iterable[Package]) -> list[tuple[str, str, str]]:
    return sorted((each.ecosystem, each.name, each.version) for each in packages)


def models_of(run: RunFinished, graded: RunGraded) -> tuple[str, ...]:
    return tuple(use.model for use in (run.model, graded.model) if use)


def prompts_of(run: RunFinished, graded: RunGraded) -> tuple[str, ...]:
    uses = (use.prompt_version for use in (run.model, graded.model) if use)
    return (*uses, graded.rubric_version)


def neighbours_digest(rivals: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Rivals by name and description, as a key holds them."""
    return tuple(f"{name} {_digest(description)[:_SHORT]}" for name, description in rivals)


def standing(key: ResultKey, results: Iterable[StoredResult]) -> StoredResult | None:
    """The newest result for that very key. One that failed is looked at again."""
    return max(
        (each for each in results if each.key == key and each.passed),
        key=lambda each: each.at,
        default=None,
    )


def changes(key: ResultKey, results: Iterable[StoredResult]) -> tuple[RegressionCause, ...]:
    """What differs from the result that comes closest; `never_tested` when there is none."""
    found = [_differences(key, each.key) or ("failed_before",) for each in results]
    return min(found, key=len, default=("never_tested",))


def _differences(now: ResultKey, then: ResultKey) -> tuple[RegressionCause, ...]:
    parts: tuple[tuple[RegressionCause, bool], ...] = (
        ("skill", now.bundle != then.bundle),
        ("tasks", now.tasks != then.tasks),
        ("environment", now.environment != then.environment),
        ("models", now.models != then.models),
        ("prompts", now.prompts != then.prompts),
        ("neighbours", now.neighbours != then.neighbours),
    )
    return tuple(cause for cause, differs in parts if differs)


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
