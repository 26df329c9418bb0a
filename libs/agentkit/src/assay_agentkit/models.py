"""From a `provider:model` setting to a chat model; with none set, the rehearsal model."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from assay_agentkit.rehearsal import REHEARSAL_MODEL, Policy, RehearsalModel


class ModelSettings(BaseModel):
    """Settings that every role's model shares; mix into a service's settings."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    model_base_url: str | None = Field(default=None, validation_alias="ASSAY_MODEL_BASE_URL")
    """Address of an OpenAI-compatible endpoint; none means the provider's own."""
    model_api_key: SecretStr | None = Field(default=None, validation_alias="ASSAY_MODEL_API_KEY")
    """None leaves the key to the provider's own environment variable."""
    model_timeout_s: float = Field(default=120.0, gt=0, validation_alias="ASSAY_MODEL_TIMEOUT_S")
    """For one call to the model."""
    model_max_retries: int = Field(default=4, ge=0, validation_alias="ASSAY_MODEL_MAX_RETRIES")
    """Of one call, with backoff, on refusals that may pass: 429, 5xx, lost connections."""


class ModelMisconfigured(ValueError):
    """The model setting names nothing that can be opened here."""


def open_model(
    spec: str | None, *, policy: Policy, settings: ModelSettings | None = None
) -> BaseChatModel:
    """The model that `spec` names, or the rehearsal model driven by `policy` if it names none.

    Imports a provider's package only when `spec` asks for it.

    Raises:
        ModelMisconfigured: the provider is unknown, not installed, or lacks its key.
    """
    if not spec:
        return RehearsalModel(policy=policy)
    settings = settings or ModelSettings()
    options: dict[str, Any] = {
        "timeout": settings.model_timeout_s,
        "max_retries": settings.model_max_retries,
    }
    if settings.model_base_url:
        options["base_url"] = settings.model_base_url
    if settings.model_api_key:
        options["api_key"] = settings.model_api_key.get_secret_value()
    from langchain.chat_models import init_chat_model  # noqa: PLC0415  # slow, and not always needed

    try:
        model: BaseChatModel = init_chat_model(spec, **options)
    except ImportError as error:
        raise ModelMisconfigured(
            f"Model {spec!r} needs a package that is not installed ({error}). "
            "Install that provider's LangChain package, or name another provider."
        ) from error
    except Exception as error:  # each provider raises its own type for a missing key
        raise ModelMisconfigured(
            f"Model {spec!r} cannot be opened: {error} "
            "Write it as `provider:model`, for example `openai:gpt-5`, and set the provider's key."
        ) from error
    return model


def model_label(spec: str | None) -> str:
    """How reports name the model: the setting as given, or the rehearsal's own name."""
    return spec or REHEARSAL_MODEL
