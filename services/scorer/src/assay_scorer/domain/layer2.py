"""Layer 2: approved skills are tested again on the candidate, which is mended where it broke any.

Each function says what comes next, as `conductor.decide` does for layer 1.
"""

from datetime import datetime

from assay_contracts.base import Result
from assay_contracts.grades import RunGraded
from assay_contracts.runs import RunFinished
from assay_scorer.domain import mending, reasons
from assay_scorer.domain.decisions import Decision, conclude, dropping, enter, with_items
from assay_scorer.domain.environment import ApprovedSkill
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.what_changed import looked_up
from assay_scorer.domain.work import clean_up, work_for
from assay_scorer.domain.work_items import WorkItem


def begin(validation: Validation, approved: list[ApprovedSkill], now: datetime) -> Decision:
    """Test again, all side by side, those of these skills for which something changed."""
    regressions = tuple(looked_up(validation, skill) for skill in approved)
    items = tuple(
        WorkItem(what="regression", skill=each.skill.name)
        for each in regressions
        if each.stood is None
    )
    asked = dropping(validation, validation.awaited).model_copy(
        update={
            "step": "regression",
            "regressions": regressions,
            "pieces": (*items, *validation.control_items),
        }
    )
    if not items:
        return _all_known(asked, now)
    return Decision(asked).and_say(*(work_for(asked, item) for item in items))


def regression_ran(validation: Validation, item: WorkItem, run: RunFinished) -> Decision:
    """A skill has done its tasks again; they are graded next."""
    # The online run tells what was installed; two hundred copies of it would tell no more.
    lean = run.model_copy(update={"packages_before": (), "packages_after": ()})
    grading = WorkItem(what="regression_grading", skill=item.skill)
    ran = with_items(with_regression(validation, item, {"run": lean}), item, (grading,))
    return Decision(ran).and_say(work_for(ran, grading))


def regression_graded(
    validation: Validation, item: WorkItem, graded: RunGraded, now: datetime
) -> Decision:
    """A skill was graded again; the last one leads to the verdict, or to mending."""
    after = with_items(with_regression(validation, item, {"graded": graded}), item)
    return Decision(after) if after.awaited else _all_known(after, now)


def _all_known(after: Validation, now: datetime) -> Decision:
    """It is known of every approved skill how it fares."""
    assert after.scores is not None
    if not after.broken and after.untestable:
        unscored = after.model_copy(update={"scores": None})
        return conclude(unscored, "inconclusive", reasons.hindered_again(after.untestable), now)
    if not after.broken:
        reason = f"{reasons.reached(after.scores)} {reasons.still_work(after)}"
        return conclude(after, "passed", reason, now)
    installs = mending.remedy(after)
    if not installs:
        return conclude(after, "failed", reasons.breaks(after), now)
    return enter(mending.begun(after, installs, tuple(reasons.broken(after))), "mending", now)


def with_regression(
    validation: Validation, item: WorkItem, update: dict[str, object]
) -> Validation:
    """More is known about the skill that this work is about."""
    regressions = tuple(
        each.model_copy(update=update) if each.skill.name == item.skill else each
        for each in validation.regressions
    )
    return validation.model_copy(update={"regressions": regressions})


def layer2_answered(
    validation: Validation, item: WorkItem, result: Result, now: datetime
) -> Decision:
    """Work of layer 2 has ended well; what belongs to no step of it changes nothing."""
    match item.what, result:
        case "regression", RunFinished():
            return regression_ran(validation, item, result)
        case "regression_grading", RunGraded():
            return regression_graded(validation, item, result, now)
        case "mending", RunFinished():
            return _go_on_mending(validation, mending.installed(validation, result), now)
        case "mending_run", RunFinished():
            grading = WorkItem(what="mending_grading", skill=item.skill)
            ran = with_items(mending.ran(validation, item, result), item, (grading,))
            return _go_on_mending(validation, ran, now)
        case "mending_grading", RunGraded():
            graded = with_items(mending.graded(validation, item, result), item)
            return _go_on_mending(validation, graded, now)
        case _:
            return Decision(validation)


def _go_on_mending(before: Validation, after: Validation, now: datetime) -> Decision:
    """Ask for what is new, or end the attempt where its outcome is known."""
    assert after.mending is not None
    if after.mending.outcome == "undone":
        return failure_stands(before, after, now)
    if mending.is_mended(after):
        return _mended(after, now)
    asked_for = {item.key for item in before.pieces}
    new = [item for item in after.pieces if item.key not in asked_for]
    return Decision(after).and_say(*(work_for(after, item) for item in new))


def _mended(validation: Validation, now: datetime) -> Decision:
    assert validation.scores is not None
    assert validation.candidate is not None
    kept = mending.mended(validation)
    assert kept.mending is not None
    reason = (
        f"{reasons.reached(validation.scores)} In the environment it left, approved skills no "
        f"longer completed their tasks: {'; '.join(kept.mending.broken)}. With "
        f"{mending.described(kept.mending.installs)} instead, all {len(kept.regressions)} do, and "
        f"its own tasks are done too."
    )
    replaced = clean_up(validation, validation.candidate)
    return conclude(kept, "passed", reason, now).and_say(replaced)


def failure_stands(before: Validation, undone: Validation, now: datetime) -> Decision:
    """Mending did not help: the skill fails as it did before, and what was tried goes."""
    assert undone.mending is not None
    tried = (
        f" Installing {mending.described(undone.mending.installs)} instead did not help: "
        f"{undone.mending.detail}."
    )
    concluded = conclude(undone, "failed", reasons.breaks(undone) + tried, now)
    unused = before.mending.snapshot if before.mending else None
    return concluded.and_say(clean_up(undone, unused)) if unused else concluded
