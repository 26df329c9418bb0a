"""What comes next: one pure function, `decide(validation, fact) → decision`.

    queued → planning → online_run → online_grading ┬→ offline_run → offline_grading ┐
                                                    │   ┌────────────────────────────┤
                                                    │   └→ regression ┬→ mending ┐   │
                                                    └─────────────────┴──────────┴───┴→ reporting
                                                                                        → done

Each step asks for one piece of work; `regression` asks for a run and then a grading for each
approved skill, all side by side, and ends when all are answered. Without approved skills, or below
70 overall, there is none. Nor is there in a full test, which plans new tasks beside the stored ones
and leaves no candidate. `mending` follows where a skill broke and other versions of packages may
help: one run installs them, and all are tested again on what it leaves. A failure of ours there
ends the attempt, and the verdict is what it would have been without it.

A result for a piece of work that is not open is late or a duplicate and changes nothing.
A failure of ours is asked for again until its budget is spent, and then ends the validation as
`inconclusive`; only the report is optional, so its failure never does.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from assay_contracts.base import Failure, Message, Model, Result
from assay_contracts.grades import RunGraded
from assay_contracts.reports import DependencyMode, ReportWritten
from assay_contracts.runs import RunFinished
from assay_contracts.scores import ONLINE_PASS_MARK, OVERALL_PASS_MARK
from assay_contracts.validations import (
    CleanupRequested,
    ProgressStep,
    ValidationPlanned,
    Verdict,
)
from assay_scorer.domain import mending, reasons
from assay_scorer.domain.conflicts import conflicts
from assay_scorer.domain.environment import Environment, Regression
from assay_scorer.domain.report import completion_of
from assay_scorer.domain.validation import Piece, Validation
from assay_scorer.domain.work import clean_up, open_work, work_for

TRIES: Final = 3
"""Failed attempts of one step before it is given up."""
FIRST_DELAY: Final = timedelta(seconds=2)
REPORT_LIMIT: Final = timedelta(seconds=60)


class Admitted(Model):
    """There is room for this validation to start."""

    token_budget: int | None = None
    """What models may use for it; none means no bound."""
    environment: Environment = Environment()
    dependency_mode: DependencyMode = "lenient"


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


Fact = (
    Admitted
    | Cancelled
    | WentQuiet
    | DeadlinePassed
    | GivenUp
    | ValidationPlanned
    | RunFinished
    | RunGraded
    | ReportWritten
)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to say once the decision is stored."""

    message: Message
    delay: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Decision:
    validation: Validation
    outgoing: tuple[Outgoing, ...] = ()


def decide(validation: Validation, fact: Fact, now: datetime) -> Decision:
    """The validation after `fact`, and what to say because of it."""
    decision = _next(validation, fact, now)
    unused = _unused_candidate(decision.validation, fact)
    if unused is None:
        return decision
    cleanup = Outgoing(clean_up(decision.validation, unused))
    return Decision(decision.validation, (*decision.outgoing, cleanup))


def _next(validation: Validation, fact: Fact, now: datetime) -> Decision:
    if isinstance(fact, Admitted):
        return _admit(validation, fact, now)
    if validation.step == "done":
        return Decision(validation)
    if isinstance(fact, Cancelled):
        return _cancel(validation, fact, now)
    if isinstance(fact, DeadlinePassed | GivenUp):
        return _out_of_time(validation, fact, now)
    piece = validation.piece(fact.step_id)
    if piece is None:
        return Decision(validation)
    if isinstance(fact, WentQuiet):
        if fact.attempt != piece.attempt:
            return Decision(validation)
        return _failed(validation, piece, Failure.of("bus", "the work was lost on the bus"), now)
    if fact.failure is not None:
        # Only the newest attempt can fail a piece; an older one failing says nothing about it.
        if fact.attempt != piece.attempt:
            return Decision(validation)
        return _failed(validation, piece, fact.failure, now)
    return _done(validation, piece, fact, now)


def _unused_candidate(validation: Validation, fact: Fact) -> str | None:
    """The snapshot of a run whose result was not taken, if it left one."""
    if isinstance(fact, RunFinished) and fact.candidate not in (None, *validation.snapshots):
        return fact.candidate
    return None


# -- results ------------------------------------------------------------------------------------


def _done(validation: Validation, piece: Piece, result: Result, now: datetime) -> Decision:
    match piece.what, result:
        case "planning", ValidationPlanned():
            tasks = (*validation.stored_tasks, *result.tasks)
            planned = validation.model_copy(update={"tasks": tasks, "planner": result.model})
            return _enter(planned, "online_run", now)
        case "online_run", RunFinished():
            return _enter(validation.model_copy(update={"online": result}), "online_grading", now)
        case "online_grading", RunGraded():
            return _graded_online(validation.model_copy(update={"online_graded": result}), now)
        case "offline_run", RunFinished():
            return _enter(validation.model_copy(update={"offline": result}), "offline_grading", now)
        case "offline_grading", RunGraded():
            return _graded_offline(validation.model_copy(update={"offline_graded": result}), now)
        case "regression", RunFinished():
            return _regression_run(validation, piece, result)
        case "regression_grading", RunGraded():
            return _regression_graded(validation, piece, result, now)
        case "reporting", ReportWritten():
            written = validation.model_copy(
                update={"prose": result.prose, "reporter": result.model}
            )
            return _finish(written, now)
        case _:
            return _done_in_mending(validation, piece, result, now)


def _graded_online(validation: Validation, now: datetime) -> Decision:
    scores = validation.measured
    assert scores is not None
    found = conflicts(validation.demands, validation.package_changes)
    scored = validation.model_copy(update={"scores": scores, "conflicts": found})
    if scores.completion >= ONLINE_PASS_MARK:
        if scored.forbidden:
            return _conclude(scored, "failed", reasons.undeclared(scored), now)
        return _enter(scored, "offline_run", now)
    reason = (
        f"Completion is {scores.completion:g}, below {ONLINE_PASS_MARK:g}: the tasks were not done "
        f"online, so there was no offline run."
    )
    return _conclude(scored, "failed", reason, now)


def _graded_offline(validation: Validation, now: datetime) -> Decision:
    scores = validation.measured
    assert scores is not None
    scored = validation.model_copy(update={"scores": scores})
    if scores.overall < OVERALL_PASS_MARK:
        reason = f"The overall score {scores.overall:g} is below {OVERALL_PASS_MARK:g}."
        return _conclude(scored, "failed", reason, now)
    if scored.forbidden:
        return _conclude(scored, "failed", reasons.undeclared(scored), now)
    approved = [each for each in scored.environment.approved if each.name != scored.skill_name]
    if not approved or scored.is_full_test:
        return _conclude(scored, "passed", reasons.reached(scores), now)
    return _ask_for_regressions(
        scored.model_copy(
            update={"regressions": tuple(Regression(skill=each) for each in approved)}
        )
    )


# -- layer 2 ------------------------------------------------------------------------------------


def _ask_for_regressions(validation: Validation) -> Decision:
    pieces = tuple(
        Piece(what="regression", skill=each.skill.name) for each in validation.regressions
    )
    asked = validation.model_copy(update={"step": "regression", "pieces": pieces})
    return Decision(asked, tuple(Outgoing(work) for work in open_work(asked)))


def _regression_run(validation: Validation, piece: Piece, run: RunFinished) -> Decision:
    # The online run tells what was installed; two hundred copies of it would tell no more.
    lean = run.model_copy(update={"packages_before": (), "packages_after": ()})
    ran = _with_regression(validation, piece, {"run": lean})
    grading = Piece(what="regression_grading", skill=piece.skill)
    graded_next = _replaced(ran, piece, (grading,))
    return Decision(graded_next, (Outgoing(work_for(graded_next, grading)),))


def _regression_graded(
    validation: Validation, piece: Piece, graded: RunGraded, now: datetime
) -> Decision:
    after = _replaced(_with_regression(validation, piece, {"graded": graded}), piece, ())
    if after.pieces:
        return Decision(after)
    assert after.scores is not None
    if not after.broken:
        tested = len(after.regressions)
        reason = f"{reasons.reached(after.scores)} All {tested} approved skills still work on it."
        return _conclude(after, "passed", reason, now)
    installs = mending.remedy(after)
    if not installs:
        return _conclude(after, "failed", reasons.breaks(after), now)
    begun = mending.begun(after, installs, tuple(reasons.broken(after)))
    return _enter(begun, "mending", now)


def _with_regression(validation: Validation, piece: Piece, update: dict[str, object]) -> Validation:
    regressions = tuple(
        each.model_copy(update=update) if each.skill.name == piece.skill else each
        for each in validation.regressions
    )
    return validation.model_copy(update={"regressions": regressions})


def _replaced(validation: Validation, piece: Piece, by: tuple[Piece, ...]) -> Validation:
    others = tuple(each for each in validation.pieces if each.key != piece.key)
    return validation.model_copy(update={"pieces": (*others, *by)})


# -- mending ------------------------------------------------------------------------------------


def _done_in_mending(
    validation: Validation, piece: Piece, result: Result, now: datetime
) -> Decision:
    match piece.what, result:
        case "mending", RunFinished():
            return _tried(validation, mending.installed(validation, result), now)
        case "mending_run", RunFinished():
            grading = Piece(what="mending_grading", skill=piece.skill)
            ran = _replaced(mending.ran(validation, piece, result), piece, (grading,))
            return _tried(validation, ran, now)
        case "mending_grading", RunGraded():
            graded = _replaced(mending.graded(validation, piece, result), piece, ())
            return _tried(validation, graded, now)
        case _:
            return Decision(validation)


def _tried(before: Validation, after: Validation, now: datetime) -> Decision:
    """After a step of mending: ask for what is new, or end it where its outcome is known."""
    assert after.mending is not None
    if after.mending.outcome == "undone":
        return _stands(before, after, now)
    if mending.is_mended(after):
        return _mended(after, now)
    fresh = [piece for piece in after.pieces if before.piece(after.step_id(piece)) is None]
    return Decision(after, tuple(Outgoing(work_for(after, piece)) for piece in fresh))


def _mended(validation: Validation, now: datetime) -> Decision:
    assert validation.scores is not None
    assert validation.candidate is not None
    replaced = Outgoing(clean_up(validation, validation.candidate))
    kept = mending.mended(validation)
    assert kept.mending is not None
    reason = (
        f"{reasons.reached(validation.scores)} In the environment it left, approved skills no "
        f"longer completed their tasks: {'; '.join(kept.mending.broken)}. With "
        f"{mending.described(kept.mending.installs)} instead, all {len(kept.regressions)} do, and "
        f"its own tasks are done too."
    )
    concluded = _conclude(kept, "passed", reason, now)
    return Decision(concluded.validation, (*concluded.outgoing, replaced))


def _stands(before: Validation, undone: Validation, now: datetime) -> Decision:
    """Mending did not help: the failure stands, and what was tried goes."""
    assert undone.mending is not None
    tried = (
        f" Installing {mending.described(undone.mending.installs)} instead did not help: "
        f"{undone.mending.detail}."
    )
    concluded = _conclude(undone, "failed", reasons.breaks(undone) + tried, now)
    unused = before.mending.snapshot if before.mending else None
    cleanup = (Outgoing(clean_up(undone, unused)),) if unused else ()
    return Decision(concluded.validation, (*concluded.outgoing, *cleanup))


# -- failures -----------------------------------------------------------------------------------


def _failed(validation: Validation, piece: Piece, failure: Failure, now: datetime) -> Decision:
    if failure.category == "handed_over":
        return _ask_again(validation, piece, timedelta(0))
    if failure.category == "worker_died" and piece.lane != "solo":
        return _ask_again(validation, piece.model_copy(update={"lane": "solo"}), timedelta(0))
    failures = piece.failures + 1
    if failure.category not in ("worker_died", "budget") and failures < TRIES:
        charged = _charged(validation, piece, failure.tokens)
        failed_again = piece.model_copy(update={"failures": failures})
        return _ask_again(charged, failed_again, FIRST_DELAY * 2 ** (failures - 1))
    if validation.step == "reporting":
        return _finish(validation, now)
    if validation.step == "mending":
        why = f"it could not be tried ({failure.category}): {failure.reason}"
        return _stands(validation, mending.undone(validation, why), now)
    about = f" for '{piece.skill}'" if piece.skill else ""
    reason = (
        f"{piece.what.replace('_', ' ').capitalize()}{about} could not be completed "
        f"({failure.category}): {failure.reason}"
    )
    cause = "installing" if failure.while_installing else None
    return _inconclusive(validation.model_copy(update={"cause": cause}), reason, now)


def _charged(validation: Validation, piece: Piece, tokens: int) -> Validation:
    if piece.skill is None:
        return validation.model_copy(update={"wasted_tokens": validation.wasted_tokens + tokens})
    if validation.step == "mending":
        return mending.charged(validation, piece, tokens)
    wasted = validation.regression(piece.skill).wasted_tokens + tokens
    return _with_regression(validation, piece, {"wasted_tokens": wasted})


def _out_of_time(validation: Validation, fact: DeadlinePassed | GivenUp, now: datetime) -> Decision:
    if validation.deadline is None or now < validation.deadline:
        return Decision(validation)
    if isinstance(fact, GivenUp):
        return _give_up(validation, now)
    if validation.step == "reporting":
        return _finish(validation, now)
    if validation.step == "mending":
        return _stands(validation, mending.undone(validation, "there was no time left"), now)
    reason = (
        f"The validation did not finish within its {validation.limit.total_seconds():g} s; "
        f"it was at: {validation.step.replace('_', ' ')}."
    )
    return _inconclusive(validation.model_copy(update={"cause": "deadline"}), reason, now)


def _give_up(validation: Validation, now: datetime) -> Decision:
    """End it without what was found: neither a verdict nor a report can be made of that."""
    at = validation.step.replace("_", " ")
    reason = (
        "The validation did not finish in time: what was found could not be dealt with (internal); "
        f"it was at: {at}."
    )
    found_nothing = validation.model_copy(
        update={
            "online": None,
            "online_graded": None,
            "offline": None,
            "offline_graded": None,
            "regressions": (),
            "conflicts": (),
            "mending": None,
            "cause": "deadline",
        }
    )
    ended = _inconclusive(found_nothing, reason, now)
    left = tuple(Outgoing(clean_up(validation, each)) for each in sorted(validation.snapshots))
    return Decision(ended.validation, (*ended.outgoing, *left))


def _cancel(validation: Validation, cancelled: Cancelled, now: datetime) -> Decision:
    if validation.step == "reporting":
        return _finish(validation, now)
    if validation.step == "mending":
        stands = _stands(validation, mending.undone(validation, cancelled.why), now)
        ended = _finish(stands.validation, now)
        cleanups = [each for each in stands.outgoing if isinstance(each.message, CleanupRequested)]
        return Decision(ended.validation, (*ended.outgoing, *cleanups))
    at = validation.step.replace("_", " ")
    return _inconclusive(validation, f"{cancelled.why}; it was at: {at}.", now)


def _ask_again(validation: Validation, piece: Piece, delay: timedelta) -> Decision:
    again = piece.model_copy(update={"attempt": piece.attempt + 1})
    asked = _replaced(validation, piece, (again,))
    return Decision(asked, (Outgoing(work_for(asked, again), delay),))


# -- moving -------------------------------------------------------------------------------------


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
        }
    )
    timed = started.model_copy(update={"deadline": now + started.limit})
    return _enter(timed, "planning", now)


def _enter(validation: Validation, step: ProgressStep, now: datetime) -> Decision:
    piece = Piece(what=step, lane=validation.lane)
    fresh: dict[str, object] = {"step": step, "pieces": (piece,)}
    if step == "reporting":
        # The verdict stands: prose gets a little time of its own, whatever is left of the rest.
        fresh["deadline"] = now + REPORT_LIMIT
    if step == "mending":
        # As long again: every approved skill is tested again, and the one under test with them.
        fresh["deadline"] = now + validation.limit
    entered = validation.model_copy(update=fresh)
    return Decision(entered, (Outgoing(work_for(entered, piece)),))


def _conclude(validation: Validation, verdict: Verdict, reason: str, now: datetime) -> Decision:
    concluded = validation.model_copy(
        update={"verdict": verdict, "reason": reason, "completed_at": now}
    )
    return _enter(concluded, "reporting", now)


def _inconclusive(validation: Validation, reason: str, now: datetime) -> Decision:
    ended = validation.model_copy(
        update={"verdict": "inconclusive", "reason": reason, "completed_at": now, "scores": None}
    )
    return _finish(ended, now)


def _finish(validation: Validation, now: datetime) -> Decision:
    finished = validation.model_copy(update={"step": "done", "pieces": (), "completed_at": now})
    completed = Outgoing(completion_of(finished))
    waits_for_review = finished.verdict == "passed" and not finished.is_full_test
    if finished.candidate is None or waits_for_review:
        return Decision(finished, (completed,))
    return Decision(finished, (completed, Outgoing(clean_up(finished, finished.candidate))))
