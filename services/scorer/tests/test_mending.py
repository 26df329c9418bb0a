"""Mending: what is tried when a skill breaks others, and that it is kept or undone."""

from datetime import timedelta

import pytest

from assay_contracts.base import Work
from assay_contracts.runs import Package, RunFinished, RunRequested
from assay_contracts.skills import Dependencies, SkillManifest
from assay_contracts.validations import CleanupRequested, ValidationCompleted
from assay_reporting.markdown import render_markdown
from assay_scorer.domain.conductor import decide
from assay_scorer.domain.decisions import Decision
from assay_scorer.domain.failures import TRIES
from assay_scorer.domain.inputs import Admitted, Cancelled, ConductorInput, DeadlinePassed
from assay_scorer.domain.report import build_report
from assay_scorer.domain.validation import Validation
from assay_scorer.domain.work import open_work
from assay_testkit.scorer import NOW, a_validation, an_environment, gone_wrong, well_done


def unitlib(version: str) -> Package:
    return Package(ecosystem="pip", name="unitlib", version=version)


OWN = "csv-analyzer"
CANDIDATE_EXPIRES = NOW + timedelta(days=1)
MENDED_EXPIRES = NOW + timedelta(days=2)


class Story:
    """A skill that replaces unitlib 1.0, which `alpha` and `beta` declare, by 2.0."""

    def __init__(
        self,
        *,
        old: str = "unitlib",
        new: str = "unitlib",
        offered: tuple[str, ...] = (),
        tokens: int | None = None,
    ) -> None:
        self.offered = tuple(unitlib(version) for version in offered)
        self.cleaned: list[str] = []
        self.completed: list[ValidationCompleted] = []
        self.now = NOW
        manifest = SkillManifest(name=OWN, description="x", dependencies=Dependencies(pip=(new,)))
        environment = an_environment("alpha", "beta", dependencies=Dependencies(pip=(old,)))
        self.validation: Validation = a_validation().model_copy(update={"manifest": manifest})
        self.take(Admitted(environment=environment, token_budget=tokens))

    def take(self, given: ConductorInput) -> Decision:
        decision = decide(self.validation, given, self.now)
        self.validation = decision.validation
        for outgoing in decision.outgoing:
            if isinstance(outgoing.message, CleanupRequested):
                self.cleaned += outgoing.message.snapshots
            if isinstance(outgoing.message, ValidationCompleted):
                self.completed.append(outgoing.message)
        return decision

    def answer(
        self, work: Work, *, grade: int = 5, unit: str | None = None, calls: int = 0
    ) -> None:
        result = well_done(work, grade=grade)
        if isinstance(work, RunRequested):
            assert isinstance(result, RunFinished)
            expires_at = MENDED_EXPIRES if work.kind == "mending" else CANDIDATE_EXPIRES
            inside = unit or {"online": "2.0"}.get(work.kind, self.in_snapshot)
            update = {
                "packages_before": (unitlib("1.0"),),
                "packages_after": (unitlib(inside),),
                "offered": self.offered if work.kind == "online" else (),
                "network_calls_omitted": calls,
                "candidate_expires_at": expires_at if work.capture else None,
            }
            result = result.model_copy(update=update)
        assert isinstance(result, ConductorInput)
        self.take(result)

    @property
    def in_snapshot(self) -> str:
        mending = self.validation.mending
        return mending.installs[0].version if mending else "2.0"

    def to_mending(self) -> "Story":
        """Everything is fine but for `beta` in layer 2."""
        while self.validation.step not in ("mending", "reporting"):
            work = open_work(self.validation)[0]
            breaks = self.validation.step == "regression" and work.skill_name == "beta"
            self.answer(work, grade=1 if breaks else 5)
        return self

    def to_retests(self) -> "Story":
        self.to_mending()
        (work,) = open_work(self.validation)
        self.answer(work)
        return self

    def about(self, skill: str) -> Work:
        (work,) = [each for each in open_work(self.validation) if each.skill_name == skill]
        return work

    def to_the_end(self) -> Validation:
        while work := open_work(self.validation):
            self.answer(work[0])
        return self.validation


@pytest.mark.parametrize(
    ("old", "new", "offered", "tried"),
    [
        ("unitlib", "unitlib>=1.5", ("2.0", "1.5", "1.0"), "1.5"),
        ("unitlib", "unitlib", ("2.0", "1.5", "1.0"), "1.0"),
        ("unitlib", "unitlib>=1.5", ("3.0", "1.7", "1.6"), "3.0"),
        ("unitlib<3", "unitlib>=1.5", ("3.0", "1.7", "1.6"), "1.7"),
        ("unitlib", "unitlib==2.0", ("2.0", "1.5"), "1.0"),
        ("unitlib<2", "unitlib>=2", (), "1.0"),
    ],
)
def test_a_version_for_all_is_tried_or_else_the_one_the_broken_skills_had(
    old: str, new: str, offered: tuple[str, ...], tried: str
) -> None:
    story = Story(old=old, new=new, offered=offered).to_mending()
    (work,) = open_work(story.validation)
    assert isinstance(work, RunRequested)
    assert work.kind == "mending"
    assert work.install == (unitlib(tried),)
    assert work.tasks == ()
    assert work.base == story.validation.candidate
    assert work.capture not in (None, work.base)


def test_what_nothing_explains_cannot_be_mended() -> None:
    story = Story(old="other", new="unitlib").to_mending()
    assert story.validation.step == "reporting"
    assert story.validation.verdict == "failed"
    assert story.validation.mending is None


def test_all_are_tested_again_on_what_it_leaves_the_one_under_test_too() -> None:
    story = Story().to_retests()
    mending = story.validation.mending
    assert mending is not None
    runs = {work.skill_name: work for work in open_work(story.validation)}
    assert runs.keys() == {"alpha", "beta", OWN}
    for run in runs.values():
        assert isinstance(run, RunRequested)
        assert (run.kind, run.base, run.capture) == ("regression", mending.snapshot, None)
    own = runs[OWN]
    assert isinstance(own, RunRequested)
    assert own.tasks == story.validation.tasks
    assert own.skill_id == story.validation.skill_id
    assert (story.validation.stage, story.validation.tasks_total) == ("layer2", 3)


def test_when_all_work_it_passes_with_the_mended_environment() -> None:
    story = Story().to_retests()
    first = story.validation.candidate
    mending = story.validation.mending
    assert mending is not None
    done = story.to_the_end()
    assert (done.verdict, done.layer1_passed, done.layer2_passed) == ("passed", True, True)
    assert done.candidate == mending.snapshot
    assert done.candidate_expires_at == MENDED_EXPIRES
    assert story.cleaned == [first]
    assert "'beta' (t1, t2, t3, unitlib 1.0 → 2.0)" in str(done.reason)
    assert "With unitlib 1.0 instead, all 2 do" in str(done.reason)
    report = build_report(done)
    assert all(each.passed for each in report.regressions)
    assert report.dependency_report is not None
    told = report.dependency_report.mending
    assert told is not None
    assert (told.succeeded, told.installed) == (True, (unitlib("1.0"),))
    assert told.retested == ("alpha", "beta", OWN)
    assert "all of them work: this environment was kept." in render_markdown(report)
    executed = sum(use.calls for use in report.models if use.role == "executor")
    assert executed == 2 + 2 + 3


@pytest.mark.parametrize("skill", ["alpha", "beta", OWN])
def test_if_one_does_not_work_it_is_undone_at_once_and_the_failure_stands(skill: str) -> None:
    story = Story().to_retests()
    mending = story.validation.mending
    assert mending is not None
    story.answer(story.about(skill))
    story.answer(story.about(skill), grade=2)
    assert story.validation.step == "reporting"
    assert story.cleaned == [mending.snapshot]
    done = story.to_the_end()
    assert (done.verdict, done.layer2_passed) == ("failed", False)
    assert done.candidate_expires_at == CANDIDATE_EXPIRES
    assert f"'{skill}' does not complete t1, t2, t3 with them" in str(done.reason)
    assert "'beta' (t1, t2, t3, unitlib 1.0 → 2.0)" in str(done.reason)
    assert story.cleaned == [mending.snapshot, done.candidate]
    assert "It was undone." in render_markdown(build_report(done))


def test_a_skill_that_puts_its_own_version_back_is_not_mended() -> None:
    story = Story().to_retests()
    story.answer(story.about(OWN), unit="2.0")
    done = story.to_the_end()
    assert done.verdict == "failed"
    assert f"the tasks of '{OWN}' leave unitlib at 2.0 again" in str(done.reason)


@pytest.mark.parametrize("other", ["0.9", "2.0"])
def test_a_package_may_be_there_several_times_if_the_wanted_version_is(other: str) -> None:
    story = Story().to_retests()
    there = tuple(unitlib(version) for version in sorted({"1.0", other}))
    run = well_done(story.about(OWN)).model_copy(update={"packages_after": there})
    assert isinstance(run, ConductorInput)
    story.take(run)
    assert story.to_the_end().verdict == "passed"


def test_a_skill_that_then_calls_home_more_is_not_mended() -> None:
    story = Story().to_retests()
    story.answer(story.about(OWN), calls=2)
    done = story.to_the_end()
    assert done.verdict == "failed"
    assert "attempts 2 network calls, not 0" in str(done.reason)


def test_what_cannot_be_installed_is_told() -> None:
    story = Story().to_mending()
    (work,) = open_work(story.validation)
    refused = well_done(work).model_copy(
        update={"candidate": None, "install_failure": "no matching distribution"}
    )
    assert isinstance(refused, ConductorInput)
    story.take(refused)
    done = story.to_the_end()
    assert done.verdict == "failed"
    assert "could not be installed: no matching distribution" in str(done.reason)
    assert story.cleaned == [done.candidate]


@pytest.mark.parametrize("retests", [False, True])
def test_a_failure_of_ours_leaves_the_verdict_as_it_was(retests: bool) -> None:
    story = Story().to_retests() if retests else Story().to_mending()
    for _ in range(TRIES):
        failed = gone_wrong(open_work(story.validation)[-1])
        assert isinstance(failed, ConductorInput)
        story.take(failed)
    done = story.to_the_end()
    assert (done.verdict, done.layer2_passed) == ("failed", False)
    assert "it could not be tried (sandbox): it broke" in str(done.reason)
    assert len(story.completed) == 1
    assert len(story.cleaned) == (2 if retests else 1)


def test_it_has_as_long_again_and_then_the_failure_stands() -> None:
    story = Story().to_retests()
    limit = story.validation.limit
    assert story.validation.deadline == NOW + limit
    story.now = NOW + limit + timedelta(seconds=1)
    story.take(DeadlinePassed())
    assert (story.validation.step, story.validation.verdict) == ("reporting", "failed")
    assert "there was no time left" in str(story.validation.reason)


def test_cancelling_it_leaves_the_failure() -> None:
    story = Story().to_retests()
    story.take(Cancelled(why="Cancelled by admin"))
    assert (story.validation.step, story.validation.verdict) == ("done", "failed")
    assert [each.verdict for each in story.completed] == ["failed"]
    assert len(set(story.cleaned)) == 2


def test_tests_have_the_same_tokens_as_in_layer_2() -> None:
    story = Story(tokens=1000).to_mending()
    assert open_work(story.validation)[0].token_budget == 0
    story.answer(open_work(story.validation)[0])
    assert [work.token_budget for work in open_work(story.validation)] == [300, 300, 300]


def test_the_reason_names_a_conflict_and_who_asks_for_what() -> None:
    story = Story(old="unitlib<2", new="unitlib>=2").to_retests()
    story.answer(story.about(OWN), unit="2.0")
    done = story.to_the_end()
    assert (
        f"Conflict over unitlib: alpha asks for <2, beta asks for <2, {OWN} asks for >=2."
        in str(done.reason)
    )
    report = build_report(done).dependency_report
    assert report is not None
    (conflict,) = report.conflicts
    assert conflict.suggested_constraint == "unitlib<2"
    markdown = render_markdown(build_report(done))
    assert "**Conflict over unitlib (pip):** 1.0 before, 2.0 after;" in markdown
