"""From a `provider:model` setting to a chat model."""

from collections.abc import Mapping
from typing import Final, TypedDict

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, Field, SecretStr

EXTRAS: Final = {
    "anthropic": "anthropic",
    "openai": "openai",
    "azure_openai": "openai",
    "google_genai": "google",
    "ollama": "ollama",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
}
"""For each provider, the extra of this package that brings its client."""


_RETRIES: Final = "assay_retries"
"""Where an opened model says how often its calls are to be repeated."""


class ModelSettings(BaseModel):
    """Settings that every role's model shares; mix into a service's settings."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    model_base_url: str | None = Field(default=None, validation_alias="ASSAY_MODEL_BASE_URL")
    """Address of an OpenAI-compatible endpoint; none means the provider's own."""
    model_api_key: SecretStr | None = Field(default=None, validation_alias="ASSAY_MODEL_API_KEY")
    """Key for the model's provider; none means the provider's own environment variable."""
    model_timeout_s: float = Field(default=120.0, gt=0, validation_alias="ASSAY_MODEL_TIMEOUT_S")
    """Seconds that one call to a model may take."""
    model_max_retries: int = Field(default=4, ge=0, validation_alias="ASSAY_MODEL_MAX_RETRIES")
    """How often one call is repeated, with backoff, after 429, 5xx or a lost connection."""


class ModelMisconfigured(ValueError):
    """The model setting names nothing that can be opened here."""


def open_provider_model(spec: str, *, settings: ModelSettings | None = None) -> BaseChatModel:
    """The model that `spec` names; imports its provider's package only now.

    Raises:
        ModelMisconfigured: the provider is unknown, not installed, or lacks its key.
    """
    settings = settings or ModelSettings()
    options = _options(spec, settings)
    try:
        model: BaseChatModel = init_chat_model(spec, **options)
    except ImportError as error:
        raise ModelMisconfigured(
            f"Model {spec!r} needs a package that is not installed ({error}). {_how_to_get(spec)}"
        ) from error
    except Exception as error:  # each provider raises its own type for a missing key
        raise ModelMisconfigured(
            f"Model {spec!r} cannot be opened: {error} "
            "Write it as `provider:model`, for example `openai:gpt-5`, and set the provider's key."
        ) from error
    model.metadata = {**(model.metadata or {}), _RETRIES: settings.model_max_retries}
    return model


def retries_of(model: BaseChatModel) -> int:
    """How often a call to this model is to be repeated; its own client repeats none."""
    found = (model.metadata or {}).get(_RETRIES, 0)
    return found if isinstance(found, int) else 0


class _Options(TypedDict, total=False):
    """The settings in the provider's own words."""

    base_url: str
    api_key: str
    timeout: float
    max_retries: int
    client_kwargs: Mapping[str, object]


def _options(spec: str, settings: ModelSettings) -> _Options:
    key = settings.model_api_key.get_secret_value() if settings.model_api_key else None
    options: _Options = {}
    if settings.model_base_url:
        options["base_url"] = settings.model_base_url
    if _provider(spec) == "ollama":
        # It hands what concerns the connection on to its HTTP client.
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        options["client_kwargs"] = {"timeout": settings.model_timeout_s, "headers": headers}
        return options
    options["timeout"] = settings.model_timeout_s
    # Repeated calls are ours to make, so that every one of them is counted.
    options["max_retries"] = 0
    if key:
        options["api_key"] = key
    return options


def _provider(spec: str) -> str:
    return spec.partition(":")[0]


def _how_to_get(spec: str) -> str:
    extra = EXTRAS.get(_provider(spec))
    if extra is None:
        return "Install that provider's LangChain package, or name another provider."
    return f"Install it with `pip install 'assay-agentkit[{extra}]'`, or name another provider."
