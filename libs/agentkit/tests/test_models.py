import tomllib
from pathlib import Path
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from pydantic import SecretStr

from assay_agentkit.meter import ModelMeter
from assay_agentkit.models import (
    EXTRAS,
    ModelMisconfigured,
    ModelSettings,
    open_provider_model,
    retries_of,
)


def test_a_provider_and_a_model_are_opened_with_the_settings() -> None:
    settings = ModelSettings(
        model_base_url="http://127.0.0.1:9/v1", model_api_key=SecretStr("k"), model_timeout_s=3
    )
    model = open_provider_model("openai:some-model", settings=settings)
    assert model._get_ls_params()["ls_provider"] == "openai"
    assert getattr(model, "request_timeout", None) == 3
    assert getattr(model, "openai_api_base", None) == "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("spec", "timeout", "retries", "url"),
    [
        ("openai:m", "request_timeout", "max_retries", "openai_api_base"),
        ("anthropic:m", "default_request_timeout", "max_retries", "anthropic_api_url"),
        ("google_genai:m", "timeout", "max_retries", "base_url"),
    ],
)
def test_every_provider_gets_the_bounds_in_its_own_words(
    spec: str, timeout: str, retries: str, url: str
) -> None:
    settings = ModelSettings(
        model_base_url="http://127.0.0.1:9",
        model_api_key=SecretStr("k"),
        model_timeout_s=3,
        model_max_retries=2,
    )
    model = open_provider_model(spec, settings=settings)
    assert getattr(model, timeout) == 3
    assert getattr(model, retries) == 0
    assert retries_of(model) == 2
    assert str(getattr(model, url)).startswith("http://127.0.0.1:9")
    assert "'k'" not in repr(model)


def test_every_extra_is_declared() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == set(EXTRAS.values())


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("nobody:some-model", "nobody"),
        ("groq:some-model", "not installed"),
        ("ollama:some-model", r"pip install 'assay-agentkit\[ollama\]'"),
        ("bedrock_converse:some-model", r"pip install 'assay-agentkit\[bedrock\]'"),
        ("openai:some-model", "key"),
    ],
)
def test_what_cannot_be_opened_says_why_and_what_to_do(
    spec: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelMisconfigured, match=says):
        open_provider_model(spec)


def test_the_meter_adds_up_calls_and_tokens_and_counts_shared_time_once() -> None:
    meter = ModelMeter()
    first, second = uuid4(), uuid4()
    message = AIMessage(
        "x", usage_metadata={"input_tokens": 10, "output_tokens": 4, "total_tokens": 14}
    )
    result = LLMResult(generations=[[ChatGeneration(message=message)]])
    meter.on_chat_model_start({}, [[]], run_id=first)
    meter.on_chat_model_start({}, [[]], run_id=second)
    meter.on_llm_end(result, run_id=first)
    meter.on_llm_error(RuntimeError("late"), run_id=second)
    use = meter.use(role="grader", model="a:b", prompt_version="p")
    assert (use.calls, use.input_tokens, use.output_tokens) == (2, 10, 4)
    assert use.seconds < 1
