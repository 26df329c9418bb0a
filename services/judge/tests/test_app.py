import pytest
from pydantic import SecretStr

from assay_agentkit.models import ModelMisconfigured
from assay_judge.adapters.graph import (
    GRADER_PROMPT,
    PLANNER_PROMPT,
    PREPARER_PROMPT,
    REPORTER_PROMPT,
    prompt,
)
from assay_judge.app import create_app, open_agents
from assay_judge.domain.drafts import TaskDraft, TaskOutlines
from assay_judge.domain.grading import GradeDraft
from assay_judge.domain.prose import ProseDraft
from assay_judge.settings import Settings
from assay_rehearsal import grader, reporter
from assay_rehearsal.model import RehearsalModel
from assay_rehearsal.planner import policy as planner
from assay_testkit.judge import WorkbenchInMemory

URL = SecretStr("nats://judge:x@127.0.0.1:4222")


def test_it_is_wired_without_connecting() -> None:
    service = create_app(Settings(nats_url=URL))
    assert service.bus.service == "judge"


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATS_URL", URL.get_secret_value())
    monkeypatch.setenv("ASSAY_JUDGE_MODEL", "openai:a")
    monkeypatch.setenv("ASSAY_JUDGE_SAMPLES", "3")
    monkeypatch.setenv("ASSAY_MODEL_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("ASSAY_MODEL_API_KEY", "secret")
    settings = Settings()
    assert (settings.judge_model, settings.judge_samples) == ("openai:a", 3)
    assert settings.model_base_url == "http://127.0.0.1:9/v1"
    assert "secret" not in repr(settings)
    agents = open_agents(settings, WorkbenchInMemory())
    assert agents.planner_model.label == agents.reporter_model.label == "openai:a"


def test_without_a_model_everything_is_rehearsed() -> None:
    agents = open_agents(Settings(nats_url=URL), WorkbenchInMemory())
    for model in (agents.planner_model, agents.grader_model, agents.reporter_model):
        assert isinstance(model.chat, RehearsalModel)
        assert model.label == "rehearsal:1"


def test_a_model_that_cannot_be_opened_stops_the_start() -> None:
    with pytest.raises(ModelMisconfigured, match="nobody"):
        create_app(Settings(nats_url=URL, judge_model="nobody:x"))


@pytest.mark.parametrize(
    "version", [PLANNER_PROMPT, PREPARER_PROMPT, GRADER_PROMPT, REPORTER_PROMPT]
)
def test_every_prompt_is_there(version: str) -> None:
    assert "instruction" in prompt(version)


def test_the_rehearsal_answers_with_the_tools_that_the_judge_offers() -> None:
    assert TaskOutlines.__name__ == planner.OUTLINES_TOOL
    assert TaskDraft.__name__ == planner.TASK_TOOL
    assert GradeDraft.__name__ == grader.ANSWER_TOOL
    assert ProseDraft.__name__ == reporter.ANSWER_TOOL
