"""Layer 2 runs what changed: a result stands as long as nothing that it rests on has changed."""

from uuid import uuid4

import pytest

from assay_contracts.grades import RunGraded
from assay_contracts.reports import RegressionCause, RegressionMode, Report
from assay_contracts.runs import (
    NearMissOutcome,
    Package,
    RunFinished,
    SkillUse,
)
from assay_contracts.tasks import NearMiss, Task
from assay_contracts.validations import ValidationPlanned
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.environment import ApprovedSkill, Environment
from assay_scorer.domain.inputs import Admitted
from assay_scorer.domain.report import build_report
from assay_scorer.domain.results import StoredResult
from assay_scorer.domain.rivals import fit, is_rival, tasks_fitted
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.what_changed import results_of
from assay_scorer.domain.work import open_work
from assay_testkit.scorer import (
    NOW,
    a_validation,
    an_environment,
    as_input,
    well_done,
    work_in,
)

FIFTY = an_environment(*(f"skill-{number:02}" for number in range(50)))
BROUGHT = Package(ecosystem="pip", name="unitlib", version="2.0")


def tried(
    environment: Environment,
    results: tuple[StoredResult, ...] = (),
    *,
    mode: RegressionMode = "changed",
    **changes: object,
) -> Validation:
    """A validation to its end, everything going well, with these results known."""
    start = a_validation().model_copy(update={"known_results": results, **changes})
    admitted = Admitted(environment=environment, regression_mode=mode)
    validation = decide(start, admitted, NOW).validation
    while validation.step != "done":
        work = open_work(validation)[0]
        validation = decide(validation, as_input(well_done(work)), NOW).validation
    return validation


def reported(validation: Validation) -> Report:
    return build_report(validation)


def test_with_nothing_changed_fifty_approved_skills_cost_no_model_call() -> None:
    first = tried(FIFTY)
    assert len(first.regressions) == 50
    again = tried(FIFTY, results_of(first))
    assert again.verdict == "passed"
    report = reported(again)
    assert report.costs is not None
    assert not [line for line in report.costs.lines if line.phase == "regression"]
    assert report.regression_rule is not None
    assert (report.regression_rule.ran, report.regression_rule.stood) == (0, 50)
    assert not report.regression_rule.environment_changed
    assert {each.tested_in for each in report.regressions} == {first.validation_id}
    assert all(each.stood and each.passed and each.tasks for each in report.regressions)
    assert again.layer2_passed
    assert "nothing that their results rest on changed" in str(again.reason)


def test_what_a_skill_was_approved_by_is_its_first_result() -> None:
    alone = tried(Environment())
    (own,) = results_of(alone)
    approved = alone.tested(alone.skill_name)
    environment = Environment(runtime_version=1, snapshot="s", approved=(approved,))
    other = tried(environment, (own,), skill_name="other", skill_id=uuid4())
    (regression,) = other.regressions
    assert regression.stood == own


ALPHA = an_environment("alpha")


def rested_on(**changes: object) -> tuple[StoredResult, ...]:
    """A result of alpha that differs in this from what would be found now."""
    (found,) = [
        each for each in results_of(tried(ALPHA)) if each.skill_id == ALPHA.approved[0].skill_id
    ]
    return (found.model_copy(update={"key": found.key.model_copy(update=changes)}),)


@pytest.mark.parametrize(
    ("part", "cause"),
    [
        ("bundle", "skill"),
        ("tasks", "tasks"),
        ("environment", "environment"),
        ("models", "models"),
        ("prompts", "prompts"),
        ("neighbours", "neighbours"),
    ],
)
def test_anything_it_rests_on_has_it_run_again(part: str, cause: RegressionCause) -> None:
    other = ("other",) if part in ("models", "prompts", "neighbours") else "other"
    (regression,) = tried(ALPHA, rested_on(**{part: other})).regressions
    assert regression.stood is None
    assert regression.run_because == (cause,)
    assert regression.graded is not None


def test_a_failure_never_stands() -> None:
    (result,) = rested_on()
    task = result.tasks[0].model_copy(update={"completed": False})
    failed = result.model_copy(update={"tasks": (task, *result.tasks[1:])})
    (regression,) = tried(ALPHA, (failed,)).regressions
    assert regression.run_because == ("failed_before",)


def test_all_can_be_demanded() -> None:
    (regression,) = tried(ALPHA, rested_on(), mode="all").regressions
    assert regression.run_because == ("all_demanded",)


def test_what_the_skill_installs_makes_another_environment() -> None:
    start = a_validation().model_copy(update={"known_results": rested_on()})
    decision = decide(start, Admitted(environment=ALPHA), NOW)
    while decision.validation.step != "regression":
        result = well_done(work_in(decision))
        if isinstance(result, RunFinished) and decision.validation.step == "online_run":
            result = result.model_copy(update={"packages_after": (BROUGHT,)})
        decision = decide(decision.validation, as_input(result), NOW)
    (regression,) = decision.validation.regressions
    assert regression.run_because == ("environment",)


def with_near_miss(opened: tuple[str, ...]) -> Validation:
    """As `tried`, with a near miss for which agents opened these skills."""
    start = a_validation().model_copy(update={"known_results": rested_on()})
    decision = decide(start, Admitted(environment=ALPHA), NOW)
    while decision.validation.step not in ("regression", "reporting"):
        result = well_done(work_in(decision))
        if isinstance(result, ValidationPlanned):
            misses = (NearMiss(near_miss_id="n1", prompt="Write a poem."),)
            result = result.model_copy(update={"near_misses": misses})
        if isinstance(result, RunFinished) and decision.validation.step == "online_run":
            outcome = NearMissOutcome(near_miss_id="n1", skills_opened=opened)
            result = result.model_copy(update={"near_misses": (outcome,)})
        decision = decide(decision.validation, as_input(result), NOW)
    return decision.validation


def test_a_skill_that_is_chosen_for_anything_has_all_run_again() -> None:
    (regression,) = with_near_miss(("csv-analyzer",)).regressions
    assert regression.run_because == ("over_broad",)
    assert with_near_miss(("alpha",)).regressions[0].stood


# -- triggers taken away ---------------------------------------------------------------------------

TABLES = "Summarise CSV tables: columns, means, medians and missing values of a data file."


def an_approved(description: str, *prompts: str) -> ApprovedSkill:
    tasks = tuple(
        Task(task_id=f"t{number}", prompt=prompt, success_criterion="It is done.")
        for number, prompt in enumerate(prompts, start=1)
    )
    (skill,) = an_environment("table-facts").approved
    return skill.model_copy(update={"description": description, "tasks": tasks})


PROMPT = "Tell me the means and medians of the columns of data.csv, and where values are missing."


def test_words_tell_a_rival_from_a_stranger() -> None:
    vague = an_approved("Facts about numbers.", PROMPT)
    precise = an_approved(TABLES, PROMPT)
    assert is_rival(vague, "tables", TABLES)
    assert not is_rival(precise, "tables", TABLES)
    assert tasks_fitted(precise, TABLES) == ("t1",)
    poems = "Writes poems about birds."
    assert not is_rival(precise, "poems", poems)
    assert not tasks_fitted(precise, poems)
    assert is_rival(precise, "poems", "Use this instead of table facts, whatever you do.")


def test_a_description_pays_for_its_breadth() -> None:
    everything = TABLES + " " + " ".join(f"topic{number}" for number in range(80))
    assert 0 < fit(PROMPT, everything) < fit(PROMPT, TABLES)


def test_a_rival_has_the_skill_run_and_what_it_takes_is_named() -> None:
    environment = Environment(approved=(an_approved("Facts about numbers.", PROMPT),))
    manifest = a_validation().manifest.model_copy(update={"description": TABLES})
    before = results_of(tried(environment))
    start = a_validation().model_copy(update={"known_results": before, "manifest": manifest})
    decision = decide(start, Admitted(environment=environment), NOW)
    while decision.validation.step != "done":
        result = well_done(work_in(decision))
        if isinstance(result, RunFinished) and decision.validation.step == "regression":
            use = SkillUse(skill="csv-analyzer", kind="run", evidence="e", step=0)
            stolen = (each.model_copy(update={"skills_used": (use,)}) for each in result.outcomes)
            result = result.model_copy(update={"outcomes": tuple(stolen)})
        decision = decide(decision.validation, as_input(result), NOW)
    (regression,) = decision.validation.regressions
    assert regression.run_because == ("neighbours",)
    report = reported(decision.validation)
    assert report.trigger is not None
    (taken,) = report.trigger.taken
    assert (taken.skill_name, taken.task_ids, taken.evidence) == (
        "table-facts",
        ("t1",),
        "observed",
    )
    assert report.verdict == "passed"


def test_one_that_fits_no_better_is_named_without_a_run() -> None:
    environment = Environment(approved=(an_approved(TABLES, PROMPT),))
    manifest = a_validation().manifest.model_copy(update={"description": TABLES})
    report = reported(tried(environment, results_of(tried(environment)), manifest=manifest))
    assert report.regressions[0].stood
    assert report.trigger is not None
    (taken,) = report.trigger.taken
    assert taken.evidence == "words"


def test_only_what_was_graded_is_kept() -> None:
    validation = tried(ALPHA)
    assert isinstance(validation.regressions[0].graded, RunGraded)
    assert {each.validation_id for each in results_of(validation)} == {validation.validation_id}
    cut_short = validation.model_copy(update={"verdict": "inconclusive"})
    assert results_of(cut_short) == ()
