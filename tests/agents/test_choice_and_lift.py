"""Whether a skill is chosen when it should be, left alone when not, and adds anything."""

from collections.abc import Callable
from typing import Any

import pytest

from assay_judge.domain.plan import rules_for
from assay_rehearsal.conversation import Policy, Reply, ToolUse, Turn
from assay_rehearsal.executor import executor_policy, listed_skills
from assay_rehearsal.grader import grader_policy
from assay_rehearsal.planner.policy import planner_policy
from assay_rehearsal.reporter import reporter_policy
from assay_testkit.models import ModelServer, answered_by

SKILL = "json-sorter"
NEAR_MISSES = ("Write a poem about a drawer of socks.", "Explain what a colon is for in English.")
MakePlatform = Callable[..., Any]

plan = planner_policy(rules_for)


def judge(turn: Turn) -> Reply:
    """Plans, grades and reports as in rehearsal, with near misses in the plan."""
    if "GradeDraft" in turn.tools:
        return grader_policy(turn)
    if "ProseDraft" in turn.tools:
        return reporter_policy(turn)
    reply = plan(turn)
    return Reply(
        reply.text,
        tuple(
            ToolUse(call.name, {**call.arguments, "near_misses": list(NEAR_MISSES)})
            if call.name == "TaskOutlines"
            else call
            for call in reply.calls
        ),
    )


def model(for_near_misses: Policy) -> Policy:
    def policy(turn: Turn) -> Reply:
        if {"TaskOutlines", "TaskDraft", "GradeDraft", "ProseDraft"} & set(turn.tools):
            return judge(turn)
        return for_near_misses(turn) if turn.request in NEAR_MISSES else executor_policy(turn)

    return policy


def eager(turn: Turn) -> Reply:
    (path,) = [each.path for each in listed_skills(turn.system) if f"/{SKILL}/" in each.path]
    return Reply(calls=(ToolUse("read_file", {"file_path": path}),))


@pytest.mark.parametrize(
    ("for_near_misses", "silent"), [(eager, 0), (lambda _: Reply("A colon, a drawer."), 2)]
)
async def test_near_misses_tell_the_precision_and_change_no_score(
    for_near_misses: Policy,
    silent: int,
    model_server: ModelServer,
    platform_with_model: MakePlatform,
) -> None:
    model_server.script = answered_by(model(for_near_misses))

    validated = await platform_with_model().validate(SKILL)

    report = validated.report
    assert (report.verdict, report.scores.overall) == ("passed", 100.0)
    assert report.trigger.silent == silent
    assert len(report.trigger.near_misses) == 2
    assert f"**Precision:** {silent} of 2" in validated.markdown
    assert ("over-broad" in validated.markdown) == (silent < 2)
    assert len(report.trigger.crowd) >= 12
    assert sum(use.calls for use in report.models) == len(model_server.requests)


async def test_the_control_shows_what_the_skill_adds(
    model_server: ModelServer, platform_with_model: MakePlatform
) -> None:
    model_server.script = answered_by(model(lambda _: Reply("Done.")))

    validated = await platform_with_model(control=True).validate(SKILL)

    report = validated.report
    assert (report.verdict, report.scores.overall) == ("passed", 100.0)
    assert report.control.effect == "adds"
    assert all(task.grade > task.grade_without for task in report.control.tasks)
    assert "**The skill adds" in validated.markdown
    assert sum(use.calls for use in report.models) == len(model_server.requests)


async def test_a_rehearsal_has_a_crowd_and_no_control(open_platform: Any, tmp_path: Any) -> None:
    validated = await open_platform(folder=tmp_path, control=True).validate(SKILL)

    assert validated.report.verdict == "passed"
    assert validated.report.control is None
    assert len(validated.report.trigger.neighbours) == 12
    assert "Agents chose among 13 skills, 12 of them built in." in validated.markdown
