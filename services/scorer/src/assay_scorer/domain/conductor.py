"""What comes next: one pure function, `decide(validation, fact) → decision`.

    queued → planning → online_run → online_grading ┬→ offline_run → offline_grading ┐
                                                    └─ completion below 50 ──────────┴→ reporting
                                                                                        → done

A result for another step than the current one is late or a duplicate and changes nothing.
A failure of ours is asked for again until its budget is spent, and then ends the validation as
`inconclusive`; only the report is optional, so its failure never does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypedDict
from uuid import UUID

from assay_contracts.base import Failure, Lane, Message, Model, Result, Work
from assay_contracts.grades import GradingRequested, RunGraded
from assay_contracts.reports import ReportRequested, ReportWritten
from assay_contracts.runs import MountedSkill, RunFinished, RunRequested
from assay_contracts.validations import (
    CleanupRequested,
    ProgressStep,
    Scores,
    ValidationPlanned,
    ValidationRequested,
    Verdict,
)
from assay_scorer.domain import scoring
from assay_scorer.domain.report import build_report, completion_of
from assay_scorer.domain.validation import Validation, time_limit

TASK_COUNT: Final = 3
TRIES: Final = 3
"""Failed attempts of one step before it is given up."""
FIRST_DELAY: Final = timedelta(seconds=2)
REPORT_LIMIT: Final = timedelta(seconds=60)


class Admitted(Model):
    """There is room for this validation to start."""

    token_budget: int | None = None
    """What models may use for it; none means no bound."""


class WentQuiet(Model):
    """The work for this step is no longer on the bus and no result came of it."""

    step_id: str
    attempt: int


class DeadlinePassed(Model):
    """The validation, or its report, has used up its time."""


Fact = (
    Admitted
    | WentQuiet
    | DeadlinePassed
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
        return _admit(validation, fact.token_budget, now)
    if validation.step in ("queued", "done"):
        return Decision(validation)
    if isinstance(fact, DeadlinePassed):
        return _out_of_time(validation, now)
    if fact.step_id != validation.step_id:
        return Decision(validation)
    if isinstance(fact, WentQuiet):
        if fact.attempt != validation.attempt:
            return Decision(validation)
        return _failed(validation, Failure.of("bus", "the work was lost on the bus"), now)
    if fact.failure is not None:
        # Only the newest attempt can fail the step; an older one failing says nothing about it.
        if fact.attempt != validation.attempt:
            return Decision(validation)
        return _failed(validation, fact.failure, now)
    return _done(validation, fact, now)


def _unused_candidate(validation: Validation, fact: Fact) -> str | None:
    """The snapshot of a run whose result was not taken, if it left one."""
    if isinstance(fact, RunFinished) and fact.candidate not in (None, validation.candidate):
        return fact.candidate
    return None


def clean_up(validation: Validation, snapshot: str) -> CleanupRequested:
    """Ask for a snapshot's deletion."""
    return CleanupRequested(
        validation_id=validation.validation_id,
        skill_id=validation.skill_id,
        skill_name=validation.skill_name,
        step_id=f"{validation.validation_id}.cleanup.{snapshot}",
        attempt=1,
        snapshots=(snapshot,),
    )


# -- results ------------------------------------------------------------------------------------


def _done(validation: Validation, result: Result, now: datetime) -> Decision:
    match validation.step, result:
        case "planning", ValidationPlanned():
            planned = validation.model_copy(update={"tasks": result.tasks, "planner": result.model})
            return _enter(planned, "online_run", now)
        case "online_run", RunFinished():
            return _enter(validation.model_copy(update={"online": result}), "online_grading", now)
        case "online_grading", RunGraded():
            return _graded_online(validation.model_copy(update={"online_graded": result}), now)
        case "offline_run", RunFinished():
            return _enter(validation.model_copy(update={"offline": result}), "offline_grading", now)
        case "offline_grading", RunGraded():
            return _graded_offline(validation.model_copy(update={"offline_graded": result}), now)
        case "reporting", ReportWritten():
            written = validation.model_copy(
                update={"prose": result.prose, "reporter": result.model}
            )
            return _finish(written, now)
        case _:
            return Decision(validation)


def _graded_online(validation: Validation, now: datetime) -> Decision:
    assert validation.online is not None
    assert validation.online_graded is not None
    completion = scoring.completion(validation.online_graded.grades)
    trigger = scoring.trigger(validation.online.outcomes, validation.skill_name)
    scores = scoring.combine(completion, trigger, None)
    scored = validation.model_copy(update={"scores": scores})
    if completion >= scoring.ONLINE_PASS:
        return _enter(scored, "offline_run", now)
    reason = (
        f"Completion is {completion:g}, below {scoring.ONLINE_PASS:g}: the tasks were not done "
        f"online, so there was no offline run."
    )
    return _conclude(scored, "failed", reason, now)


def _graded_offline(validation: Validation, now: datetime) -> Decision:
    assert validation.offline is not None
    assert validation.scores is not None
    online = validation.scores
    calls = len(validation.offline.network_calls) + validation.offline.network_calls_omitted
    scores = scoring.combine(online.completion, online.trigger, scoring.offline(calls))
    verdict: Verdict = "passed" if scores.overall >= scoring.OVERALL_PASS else "failed"
    return _conclude(
        validation.model_copy(update={"scores": scores}), verdict, _because(scores, verdict), now
    )


def _because(scores: Scores, verdict: Verdict) -> str:
    relation = "reaches" if verdict == "passed" else "is below"
    return f"The overall score {scores.overall:g} {relation} {scoring.OVERALL_PASS:g}."


# -- failures -----------------------------------------------------------------------------------


def _failed(validation: Validation, failure: Failure, now: datetime) -> Decision:
    if failure.category == "handed_over":
        return _ask_again(validation, timedelta(0))
    if failure.category == "worker_died" and validation.lane == "shared":
        return _ask_again(validation.model_copy(update={"lane": "solo"}), timedelta(0))
    failures = validation.failures + 1
    if failure.category not in ("worker_died", "budget") and failures < TRIES:
        charged = validation.model_copy(
            update={
                "failures": failures,
                "wasted_tokens": validation.wasted_tokens + failure.tokens,
            }
        )
        return _ask_again(charged, FIRST_DELAY * 2 ** (failures - 1))
    if validation.step == "reporting":
        return _finish(validation, now)
    reason = (
        f"{validation.step.replace('_', ' ').capitalize()} could not be completed "
        f"({failure.category}): {failure.reason}"
    )
    return _inconclusive(validation, reason, now)


def _out_of_time(validation: Validation, now: datetime) -> Decision:
    if validation.deadline is None or now < validation.deadline:
        return Decision(validation)
    if validation.step == "reporting":
        return _finish(validation, now)
    limit = time_limit(validation.manifest).total_seconds()
    reason = (
        f"The validation did not finish within its {limit:g} s; "
        f"it was at: {validation.step.replace('_', ' ')}."
    )
    return _inconclusive(validation, reason, now)


def _ask_again(validation: Validation, delay: timedelta) -> Decision:
    again = validation.model_copy(update={"attempt": validation.attempt + 1})
    return Decision(again, (Outgoing(_work(again), delay),))


# -- moving -------------------------------------------------------------------------------------


def _admit(validation: Validation, token_budget: int | None, now: datetime) -> Decision:
    if validation.step != "queued":
        return Decision(validation)
    deadline = now + time_limit(validation.manifest)
    started = validation.model_copy(
        update={"started_at": now, "deadline": deadline, "token_budget": token_budget}
    )
    return _enter(started, "planning", now)


def _enter(validation: Validation, step: ProgressStep, now: datetime) -> Decision:
    fresh: dict[str, object] = {"step": step, "attempt": 1, "lane": "shared", "failures": 0}
    if step == "reporting":
        # The verdict stands: prose gets a little time of its own, whatever is left of the rest.
        fresh["deadline"] = now + REPORT_LIMIT
    entered = validation.model_copy(update=fresh)
    return Decision(entered, (Outgoing(_work(entered)),))


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
    finished = validation.model_copy(update={"step": "done", "completed_at": now})
    completed = Outgoing(completion_of(finished))
    if finished.candidate is None or finished.verdict == "passed":
        return Decision(finished, (completed,))
    return Decision(finished, (completed, Outgoing(clean_up(finished, finished.candidate))))


# -- work ---------------------------------------------------------------------------------------


def _work(validation: Validation) -> Work:
    return _WORK[validation.step](validation)


def _plan_work(validation: Validation) -> Work:
    return ValidationRequested(
        **_common(validation), bundle=validation.bundle, task_count=TASK_COUNT
    )


def _online_work(validation: Validation) -> Work:
    return RunRequested(
        **_common(validation),
        kind="online",
        tasks=validation.tasks,
        skills=(MountedSkill(name=validation.skill_name, bundle=validation.bundle),),
        # The attempt is in the name: two workers on one step must not write one snapshot.
        capture=f"{validation.validation_id}-{validation.attempt}",
        time_limit_s=time_limit(validation.manifest).total_seconds(),
    )


def _offline_work(validation: Validation) -> Work:
    return RunRequested(
        **_common(validation),
        kind="offline",
        tasks=validation.tasks,
        skills=(MountedSkill(name=validation.skill_name, bundle=validation.bundle),),
        base=validation.candidate,
        time_limit_s=time_limit(validation.manifest).total_seconds(),
    )


def _online_grading(validation: Validation) -> Work:
    assert validation.online is not None
    return GradingRequested(
        **_common(validation),
        run_kind="online",
        tasks=validation.tasks,
        outcomes=validation.online.outcomes,
    )


def _offline_grading(validation: Validation) -> Work:
    assert validation.offline is not None
    return GradingRequested(
        **_common(validation),
        run_kind="offline",
        tasks=validation.tasks,
        outcomes=validation.offline.outcomes,
    )


def _report_work(validation: Validation) -> Work:
    return ReportRequested(**_common(validation), report=build_report(validation))


_WORK: Final[dict[ProgressStep, Callable[[Validation], Work]]] = {
    "planning": _plan_work,
    "online_run": _online_work,
    "online_grading": _online_grading,
    "offline_run": _offline_work,
    "offline_grading": _offline_grading,
    "reporting": _report_work,
}


class _Common(TypedDict):
    validation_id: UUID
    skill_id: UUID
    skill_name: str
    step_id: str
    attempt: int
    lane: Lane
    token_budget: int | None


def _common(validation: Validation) -> _Common:
    return {
        "validation_id": validation.validation_id,
        "skill_id": validation.skill_id,
        "skill_name": validation.skill_name,
        "step_id": validation.step_id,
        "attempt": validation.attempt,
        "lane": validation.lane,
        "token_budget": validation.tokens_allowed,
    }
