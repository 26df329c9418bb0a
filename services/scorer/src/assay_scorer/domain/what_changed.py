"""What of layer 2 has to be run: the approved skills for which something changed."""

from assay_contracts.grades import RunGraded
from assay_contracts.reports import RegressionCause, RegressionRule, RegressionTask, TakenTrigger
from assay_contracts.runs import RunFinished
from assay_scorer.domain.environment import ApprovedSkill, Regression, completed, failed_tasks
from assay_scorer.domain.results import (
    ResultKey,
    StoredResult,
    changes,
    environment_found,
    environment_left,
    models_of,
    neighbours_digest,
    prompts_of,
    standing,
    tasks_digest,
)
from assay_scorer.domain.rivals import rivals, tasks_fitted
from assay_scorer.domain.validation import Validation

REASONS_KEPT = 300


def may_begin_layer2(validation: Validation) -> bool:
    """Whether what is given next may lead to layer 2, which goes by results that are known."""
    if validation.is_full_test or not validation.environment.approved:
        return False
    return validation.step in ("offline_grading", "repeating")


def looked_up(validation: Validation, skill: ApprovedSkill) -> Regression:
    """The regression of that skill: with the result that stands, or why it has to be run."""
    assert validation.offline is not None
    assert validation.offline_graded is not None
    assert validation.online is not None
    if validation.regression_mode == "all":
        return Regression(skill=skill, run_because=("all_demanded",))
    key = _key(
        validation,
        skill,
        environment_left(validation.online),
        validation.offline,
        validation.offline_graded,
    )
    mine = [each for each in validation.known_results if each.skill_id == skill.skill_id]
    stands = standing(key, mine)
    causes = () if stands else changes(key, mine)
    seen = _seen_to_compete(validation, skill)
    causes = (*causes, *(cause for cause in seen if cause not in causes))
    return Regression(skill=skill, stood=None if causes else stands, run_because=causes)


def _seen_to_compete(validation: Validation, skill: ApprovedSkill) -> tuple[RegressionCause, ...]:
    """What agents did in the online run that says more than words."""
    assert validation.online is not None
    name = validation.skill_name
    broad = any(name in each.skills_opened for each in validation.online.near_misses)
    both = any(outcome.used(skill.name) for outcome in validation.online.outcomes)
    return (*(("over_broad",) if broad else ()), *(("neighbours",) if both else ()))


def _key(
    validation: Validation,
    skill: ApprovedSkill,
    environment: str,
    run: RunFinished,
    graded: RunGraded,
) -> ResultKey:
    return ResultKey(
        bundle=skill.bundle.sha256,
        tasks=tasks_digest(skill.tasks),
        environment=environment,
        models=models_of(run, graded),
        prompts=prompts_of(run, graded),
        neighbours=neighbours_digest(rivals(skill, _described(validation))),
    )


def _described(validation: Validation) -> tuple[tuple[str, str], ...]:
    """Every skill that agents see, by name and description, built-in neighbours apart."""
    name = validation.skill_name
    approved = ((each.name, each.description) for each in validation.environment.approved)
    under_test = (name, validation.manifest.description)
    return (*(each for each in approved if each[0] != name), under_test)


def results_of(validation: Validation) -> tuple[StoredResult, ...]:
    """What this validation found out that may stand later: of itself, and of those that ran."""
    if validation.verdict not in ("passed", "failed") or validation.is_full_test:
        return ()
    mended = validation.mending is not None and validation.mending.outcome == "mended"
    if validation.online is None or mended:
        # A mended environment has no digest of its own that a later run could be told by.
        return ()
    environment = environment_left(validation.online)
    tested = [(each.skill, each.run, each.graded) for each in validation.regressions]
    if validation.verdict == "passed":
        own = validation.tested(validation.skill_name)
        tested.append((own, validation.offline, validation.offline_graded))
    return tuple(
        _result(validation, skill, environment, run, graded)
        for skill, run, graded in tested
        if run is not None and graded is not None
    )


def _result(
    validation: Validation,
    skill: ApprovedSkill,
    environment: str,
    run: RunFinished,
    graded: RunGraded,
) -> StoredResult:
    assert validation.completed_at is not None
    failed = failed_tasks(skill, run, graded)
    return StoredResult(
        skill_id=skill.skill_id,
        key=_key(validation, skill, environment, run, graded),
        validation_id=validation.validation_id,
        at=validation.completed_at,
        tasks=tuple(
            RegressionTask(
                task_id=grade.task_id,
                grade=grade.grade,
                grade_before=skill.grades.get(grade.task_id),
                completed=grade.task_id not in failed
                and completed(skill, grade.task_id, grade.grade),
                reasons=grade.explanation[:REASONS_KEPT],
            )
            for grade in graded.grades
        ),
    )


def regression_rule(validation: Validation) -> RegressionRule | None:
    """By what layer 2 decided; None when there was none."""
    if not validation.regressions or validation.online is None:
        return None
    left = environment_left(validation.online)
    stood = sum(each.stood is not None for each in validation.regressions)
    return RegressionRule(
        mode=validation.regression_mode,
        environment_digest=left,
        environment_changed=left != environment_found(validation.online),
        ran=len(validation.regressions) - stood,
        stood=stood,
    )


def triggers_taken(validation: Validation) -> tuple[TakenTrigger, ...]:
    """Approved skills that lose tasks to the skill under test: seen in a run, else by its words."""
    found = []
    for each in validation.regressions:
        if each.run is None:
            fitted = tasks_fitted(each.skill, validation.manifest.description)
            if fitted:
                words = TakenTrigger(skill_name=each.skill.name, task_ids=fitted, evidence="words")
                found.append(words)
            continue
        lost = tuple(
            outcome.task_id
            for outcome in each.run.outcomes
            if outcome.used(validation.skill_name) and not outcome.used(each.skill.name)
        )
        if lost:
            failed = tuple(task_id for task_id in each.failed_tasks if task_id in lost)
            found.append(
                TakenTrigger(
                    skill_name=each.skill.name, task_ids=lost, evidence="observed", failed=failed
                )
            )
    return tuple(found)
