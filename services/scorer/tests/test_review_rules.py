"""What may be done with a skill: every action in every state, and what is told instead."""

from datetime import datetime, timedelta
from typing import get_args

import pytest

from assay_contracts.base import Failure
from assay_contracts.skills import SkillStatus
from assay_contracts.validations import Verdict
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.environment import Environment, Regression
from assay_scorer.domain.inputs import Admitted, ConductorInput, DeadlinePassed
from assay_scorer.domain.review import (
    EXPIRY_MARGIN,
    Action,
    SkillUnderReview,
    refusal,
    stale_candidate,
)
from assay_scorer.domain.runtime_versions import KEPT_VERSIONS, Version, made_with, superseded
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_testkit.scorer import NOW, a_revision, a_validation, an_environment, well_done

ACTIONS: tuple[Action, ...] = get_args(Action)
DAY = timedelta(days=1)


def ended(verdict: Verdict, environment: Environment | None = None) -> Validation:
    admitted = Admitted(environment=environment or Environment())
    validation = decide(a_validation(), admitted, NOW).validation
    while work := open_work(validation):
        result = well_done(work[0])
        assert isinstance(result, ConductorInput)
        validation = decide(validation, result, NOW).validation
    return validation.model_copy(update={"verdict": verdict})


def skill(status: SkillStatus, validation: Validation) -> SkillUnderReview:
    return SkillUnderReview(
        status=status, revision=a_revision(validation.skill_name), validation=validation
    )


SKILLS: dict[str, SkillUnderReview] = {
    "not validated": SkillUnderReview(status="pending", revision=a_revision(), validation=None),
    "queued": skill("pending", a_validation()),
    "passed": skill("pending", ended("passed")),
    "inconclusive": skill("pending", ended("inconclusive")),
    "validating": skill("validating", decide(a_validation(), Admitted(), NOW).validation),
    "approved": skill("approved", ended("passed")),
    "rejected": skill("rejected", ended("failed")),
    "rolled back": skill("rollback_pending", ended("passed")),
}
OK = None
ILLEGAL = "INVALID_STATUS_TRANSITION"
NOT_COMPLETED = "VALIDATION_NOT_COMPLETED"
TABLE: dict[str, dict[Action, str | None]] = {
    "not validated": {
        "approve": NOT_COMPLETED,
        "reject": OK,
        "delete": ILLEGAL,
        "revalidate": OK,
        "cancel": ILLEGAL,
    },
    "queued": {
        "approve": NOT_COMPLETED,
        "reject": ILLEGAL,
        "delete": ILLEGAL,
        "revalidate": "VALIDATION_IN_PROGRESS",
        "cancel": OK,
    },
    "passed": {"approve": OK, "reject": OK, "delete": ILLEGAL, "revalidate": OK, "cancel": ILLEGAL},
    "inconclusive": {
        "approve": NOT_COMPLETED,
        "reject": OK,
        "delete": ILLEGAL,
        "revalidate": OK,
        "cancel": ILLEGAL,
    },
    "validating": {
        "approve": NOT_COMPLETED,
        "reject": ILLEGAL,
        "delete": ILLEGAL,
        "revalidate": "VALIDATION_IN_PROGRESS",
        "cancel": OK,
    },
    "approved": {
        "approve": ILLEGAL,
        "reject": ILLEGAL,
        "delete": OK,
        "revalidate": ILLEGAL,
        "cancel": ILLEGAL,
    },
    "rejected": {
        "approve": ILLEGAL,
        "reject": ILLEGAL,
        "delete": OK,
        "revalidate": OK,
        "cancel": ILLEGAL,
    },
    "rolled back": {
        "approve": ILLEGAL,
        "reject": ILLEGAL,
        "delete": OK,
        "revalidate": OK,
        "cancel": ILLEGAL,
    },
}


@pytest.mark.parametrize("state", SKILLS)
@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_in_every_state(state: str, action: Action) -> None:
    problem = refusal(action, SKILLS[state])
    assert (problem.code if problem else None) == TABLE[state][action]


def test_an_approval_is_told_why_there_is_no_verdict() -> None:
    validation = decide(a_validation(), Admitted(), NOW).validation
    late = decide(validation, DeadlinePassed(), NOW + DAY).validation
    problem = refusal("approve", skill("pending", late))
    assert problem is not None
    assert problem.code == "VALIDATION_TIMEOUT"

    for while_installing, code in ((True, "DEPENDENCY_INSTALL_FAILED"), (False, NOT_COMPLETED)):
        broken = decide(a_validation(), Admitted(), NOW).validation
        while work := open_work(broken):
            failure = Failure.of("sandbox", "lost", while_installing=while_installing)
            given = work[0].failed(failure)
            assert isinstance(given, ConductorInput)
            broken = decide(broken, given, NOW).validation
        problem = refusal("approve", skill("pending", broken))
        assert problem is not None
        assert problem.code == code


@pytest.mark.parametrize("state", SKILLS)
@pytest.mark.parametrize("action", ACTIONS)
def test_a_refusal_names_what_is_possible_and_that_is_possible(state: str, action: Action) -> None:
    problem = refusal(action, SKILLS[state])
    if problem is None:
        return
    possible = {
        other for other in ACTIONS if refusal(other, SKILLS[state]) is None and other != action
    }
    assert set(problem.details.allowed) - {"approve"} == possible - {"approve"}
    if problem.code == ILLEGAL:
        assert all(each in problem.message for each in problem.details.allowed)


def test_a_skill_that_broke_others_is_refused_by_their_names() -> None:
    environment = an_environment("alpha", "beta")
    validation = ended("failed", environment)
    broken = validation.regressions[1]
    assert broken.graded is not None
    bad = broken.graded.model_copy(
        update={
            "grades": tuple(grade.model_copy(update={"grade": 1}) for grade in broken.graded.grades)
        }
    )
    regressions: tuple[Regression, ...] = (
        validation.regressions[0],
        broken.model_copy(update={"graded": bad}),
    )
    worse = validation.model_copy(update={"regressions": regressions})
    problem = refusal("approve", skill("rejected", worse))
    assert problem is not None
    assert problem.code == "REGRESSION_FAILED"
    assert problem.details.failed_skills == ("beta",)
    assert problem.details.allowed == ("revalidate", "delete")


def test_only_what_was_tested_on_the_current_version_becomes_the_next() -> None:
    tested = skill("pending", ended("passed", an_environment("alpha")))
    assert stale_candidate(tested, 1, NOW) is None
    for other in (0, 2):
        problem = stale_candidate(tested, other, NOW)
        assert problem is not None
        assert problem.code == ILLEGAL
        assert "v1.1" in problem.message
        assert f"v1.{other}" in problem.message
        assert problem.details.allowed == ("reject", "revalidate")


@pytest.mark.parametrize(
    ("said", "expires_at"),
    [(None, NOW + DAY), (NOW + 3 * DAY, NOW + 3 * DAY)],
    ids=["not said by the runner", "said by the runner"],
)
def test_a_candidate_that_is_about_to_expire_is_not_promoted(
    said: datetime | None, expires_at: datetime
) -> None:
    validation = ended("passed")
    assert validation.online is not None
    online = validation.online.model_copy(update={"candidate_expires_at": said})
    tested = skill("pending", validation.model_copy(update={"online": online}))
    in_time = expires_at - EXPIRY_MARGIN
    assert stale_candidate(tested, 0, in_time) is None
    problem = stale_candidate(tested, 0, in_time + timedelta(seconds=1))
    assert problem is not None
    assert problem.code == ILLEGAL
    assert f"kept until {expires_at:%Y-%m-%d} 12:00 UTC only" in problem.message


def version(number: int, built_on: int | None, *, current: bool = False) -> Version:
    made_by = a_validation()
    return Version(
        number=number,
        built_on=built_on,
        snapshot=f"s{number}" if number else None,
        validation_id=made_by.validation_id if number else None,
        skill_id=made_by.skill_id if number else None,
        skill_name=f"skill-{number}" if number else None,
        skill_revision=1 if number else None,
        created_at=NOW,
        created_by="admin",
        current=current,
        available=True,
        kept=True,
        keep_attempt=1,
        keep_asked_at=NOW,
    )


def test_a_version_is_made_with_the_skills_of_all_it_is_built_on() -> None:
    versions = [version(0, None), version(1, 0), version(2, 1), version(3, 1)]
    made = {each.number: {each.skill_id} for each in versions if each.number}
    names = {number: {skill_id for skill_id, _ in made_with(versions, number)} for number in made}
    assert made_with(versions, 0) == frozenset()
    assert names == {1: made[1], 2: made[1] | made[2], 3: made[1] | made[3]}


@pytest.mark.parametrize(("count", "current", "gone"), [(5, 5, []), (7, 7, [1, 2]), (7, 1, [2])])
def test_the_newest_few_and_the_current_one_are_kept(
    count: int, current: int, gone: list[int]
) -> None:
    assert KEPT_VERSIONS == 5
    versions = [version(0, None)] + [
        version(n, n - 1, current=n == current) for n in range(1, count + 1)
    ]
    assert sorted(each.number for each in superseded(versions)) == gone
