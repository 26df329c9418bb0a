"""What comes next: one pure function, `decide(validation, given, now) → decision`.

    queued → planning → online_run → online_grading ┬→ offline_run → offline_grading ┐
                                                    │   ┌────────────────────────────┤
                                                    │   └→ regression ┬→ mending ┐   │
                                                    └─────────────────┴──────────┴───┴→ reporting
                                                                                        → done

Where an LLM takes part and repeating could change the verdict, `repeating` follows one of the two
gradings: the tasks in question are done again, and the median counts.

Each step asks for one work item; `regression` asks for a run and then a grading for each
approved skill, all side by side, and ends when all are answered. Without approved skills, or below
70 overall, there is none. Nor is there in a full test, which plans new tasks beside the stored ones
and leaves no candidate. `mending` follows where a skill broke and other versions of packages may
help: one run installs them, and all are tested again on what it leaves. A failure of ours there
ends the attempt, and the verdict is what it would have been without it.

With an LLM, the tasks of the online run are done and graded once more without the skill under test:
the control, `beside` the steps. None waits for it, except a verdict for which a lift is demanded.

A result for work that is not open is late or a duplicate and changes nothing.
A failure of ours is asked for again until its budget is spent, and then ends the validation as
`inconclusive`; only the report is optional, so its failure never does.

Layer 1 is here; `layer2` has the regressions and mending, `failures` what goes wrong, `decisions`
the moves that all of them make.
"""

from datetime import datetime
from typing import Final

from assay_contracts.base import Failure
from assay_contracts.grades import RunGraded
from assay_contracts.reports import ReportWritten
from assay_contracts.runs import Installation, RunFinished
from assay_contracts.scores import ONLINE_PASS_MARK, OVERALL_PASS_MARK
from assay_contracts.validations import ValidationPlanned
from assay_scorer.domain import failures, layer2, reasons
from assay_scorer.domain.beside import begin_control, control_answered
from assay_scorer.domain.conflicts import conflicts
from assay_scorer.domain.decisions import Decision, conclude, enter, finish
from assay_scorer.domain.defects import says_too_little
from assay_scorer.domain.hindrances import best_case
from assay_scorer.domain.inputs import (
    Admitted,
    Cancelled,
    ConductorInput,
    DeadlinePassed,
    GivenUp,
    WentQuiet,
    WorkerResult,
)
from assay_scorer.domain.repeating import (
    considered,
    given_time_back,
    is_over,
    repeat_answered,
)
from assay_scorer.domain.spending import charged
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import clean_up
from assay_scorer.domain.work_items import WorkItem

FOUND_MARK: Final = 50.0
"""Below this trigger score a rehearsed skill is judged by its score: whoever is not found for most
of what it is for has failed, whatever could have been exercised."""


def decide(validation: Validation, given: ConductorInput, now: datetime) -> Decision:
    """The validation after what is `given`, and what to say because of it."""
    decision = _settled(_next(charged(validation, given), given, now), now)
    unused = _unused_candidate(decision.validation, given)
    if unused is None:
        return decision
    return decision.and_say(clean_up(decision.validation, unused))


def _settled(decision: Decision, now: datetime) -> Decision:
    """The decision within its money, and gone on with once all repeats have ended."""
    while True:
        decision = failures.within_money(decision, now)
        if not is_over(decision.validation):
            return decision
        validation = given_time_back(decision.validation, now)
        go_on = _graded_online if validation.offline_graded is None else _graded_offline
        further = go_on(validation, now)
        decision = Decision(further.validation, (*decision.outgoing, *further.outgoing))


def _next(validation: Validation, given: ConductorInput, now: datetime) -> Decision:
    if isinstance(given, Admitted):
        return _admit(validation, given, now)
    if validation.step == "done":
        return Decision(validation)
    if isinstance(given, Cancelled):
        return failures.cancel(validation, given, now)
    if isinstance(given, DeadlinePassed | GivenUp):
        return failures.out_of_time(validation, given, now)
    item = validation.open_item(given.step_id)
    if item is None:
        return Decision(validation)
    lost = Failure.of("bus", "the work was lost on the bus")
    failure = lost if isinstance(given, WentQuiet) else given.failure
    if failure is not None:
        # Only the newest attempt can fail; an older one failing says nothing about it.
        if given.attempt != item.attempt:
            return Decision(validation)
        return failures.work_failed(validation, item, failure, now)
    assert not isinstance(given, WentQuiet)
    return _answered(validation, item, given, now)


def _unused_candidate(validation: Validation, given: ConductorInput) -> str | None:
    """The snapshot of a run whose result was not taken, if it left one."""
    if isinstance(given, RunFinished) and given.candidate not in (None, *validation.snapshots):
        return given.candidate
    return None


def _admit(validation: Validation, admitted: Admitted, now: datetime) -> Decision:
    if validation.step != "queued":
        return Decision(validation)
    # All skills of a full test are tested in the environment that was current when it began.
    environment = validation.environment if validation.is_full_test else admitted.environment
    started = validation.model_copy(
        update={
            "started_at": now,
            "token_budget": admitted.token_budget,
            "environment": environment,
            "dependency_mode": admitted.dependency_mode,
            "wants_control": admitted.control,
            "min_lift": admitted.min_lift,
            "money": admitted.money,
            "regression_mode": admitted.regression_mode,
            "repeats_allowed": admitted.repeats,
        }
    )
    timed = started.model_copy(update={"deadline": now + started.limit})
    return enter(timed, "planning", now)


def _answered(
    validation: Validation, item: WorkItem, result: WorkerResult, now: datetime
) -> Decision:
    """Work has ended well."""
    if item.is_control:
        return control_answered(validation, item, result, now)
    if item.is_repeat:
        return repeat_answered(validation, item, result)
    match item.what, result:
        case "planning", ValidationPlanned():
            tasks = (*validation.stored_tasks, *result.tasks)
            planned = validation.model_copy(
                update={
                    "tasks": tasks,
                    "near_misses": result.near_misses,
                    "planner": result.model,
                }
            )
            return begin_control(enter(planned, "online_run", now))
        case "online_run", RunFinished():
            return enter(validation.model_copy(update={"online": result}), "online_grading", now)
        case "online_grading", RunGraded():
            return _graded_online(validation.model_copy(update={"online_graded": result}), now)
        case "offline_run", RunFinished():
            return enter(validation.model_copy(update={"offline": result}), "offline_grading", now)
        case "offline_grading", RunGraded():
            return _graded_offline(validation.model_copy(update={"offline_graded": result}), now)
        case "reporting", ReportWritten():
            written = {"prose": result.prose, "reporter": result.model}
            return finish(validation.model_copy(update=written), now)
        case _:
            return layer2.layer2_answered(validation, item, result, now)


def _graded_online(validation: Validation, now: datetime) -> Decision:
    repeated = considered(validation, now)
    if repeated.validation.step == "repeating" != validation.step:
        return repeated
    validation = repeated.validation
    scores = validation.measured
    assert scores is not None
    found = conflicts(validation.demands, validation.package_changes)
    scored = validation.model_copy(update={"scores": scores, "conflicts": found})
    if (uninstalled := scored.uninstalled) is not None:
        return _without_dependencies(scored, uninstalled, now)
    if (shown := scored.rehearsal_shows) is not None:
        if shown.outcome == "failed":
            return conclude(scored, "failed", shown.reason, now)
        if shown.outcome == "unknown" and (shown.offers_nothing or scores.trigger >= FOUND_MARK):
            unscored = scored.model_copy(update={"scores": None})
            return conclude(unscored, "inconclusive", shown.reason, now)
    elif any(defect.main_path for defect in scored.defects):
        return conclude(scored, "failed", reasons.defective(scored.defects), now)
    if scores.completion >= ONLINE_PASS_MARK:
        if scored.forbidden:
            return conclude(scored, "failed", reasons.undeclared(scored), now)
        return enter(scored, "offline_run", now)
    return _failed_unless_hindered(scored, reasons.not_done(scored), now)


def _graded_offline(validation: Validation, now: datetime) -> Decision:
    repeated = considered(validation, now)
    if repeated.validation.step == "repeating" != validation.step:
        return repeated
    validation = repeated.validation
    scores = validation.measured
    assert scores is not None
    scored = validation.model_copy(update={"scores": scores})
    if scores.overall < OVERALL_PASS_MARK:
        reason = f"The overall score {scores.overall:g} is below {OVERALL_PASS_MARK:g}."
        return _failed_unless_hindered(scored, reason, now)
    if scored.forbidden:
        return conclude(scored, "failed", reasons.undeclared(scored), now)
    if scored.unexercised or says_too_little(scored.manifest):
        unscored = scored.model_copy(update={"scores": None})
        programs = scored.unexercised
        reason = reasons.unexercised(programs) if programs else reasons.TOO_LITTLE
        return conclude(unscored, "inconclusive", reason, now)
    approved = [each for each in scored.environment.approved if each.name != scored.skill_name]
    if not approved or scored.is_full_test:
        reason = (
            reasons.reached(scores)
            + reasons.exercised_by_rehearsal(scored.rehearsal_shows)
            + reasons.hindered_in_part(scored.hindered)
        )
        return conclude(scored, "passed", reason, now)
    return layer2.begin(scored, approved, now)


def _without_dependencies(validation: Validation, failed: Installation, now: datetime) -> Decision:
    """What it declares could not be installed: its own fault, or nothing is known of it."""
    stopped = validation.model_copy(update={"cause": "installing"})
    if failed.is_the_skills:
        return conclude(stopped, "failed", reasons.not_installed(failed), now)
    unscored = stopped.model_copy(update={"scores": None})
    return conclude(unscored, "inconclusive", reasons.not_installed(failed), now)


def _failed_unless_hindered(validation: Validation, reason: str, now: datetime) -> Decision:
    """It fails, unless it might have passed had nothing stood in the way of its tasks."""
    assert validation.observed is not None
    best = best_case(validation.observed, validation.hindered)
    might_pass = best.completion >= ONLINE_PASS_MARK and best.overall >= OVERALL_PASS_MARK
    if not validation.hindered or not might_pass:
        return conclude(validation, "failed", reason, now)
    unscored = validation.model_copy(update={"scores": None})
    return conclude(unscored, "inconclusive", reasons.hindered(validation.hindered), now)
