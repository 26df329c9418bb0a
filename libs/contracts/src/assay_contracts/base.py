"""What every message on the bus has in common."""

from datetime import UTC, datetime
from typing import ClassVar, Final, Literal, Self, get_args
from uuid import UUID, uuid4

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, field_validator

Lane = Literal["shared", "background", "solo"]
"""`shared`: beside other work. `background`: so too, in places of its own, so that it never keeps
`shared` work waiting. `solo`: one at a time, so that a death has one suspect."""

FailureCategory = Literal[
    "sandbox", "model", "bus", "timeout", "worker_died", "handed_over", "internal", "budget"
]
"""`budget`: the tokens set aside are spent; asking again would only spend more."""


Role = Literal["planner", "executor", "grader", "reporter"]
REHEARSAL: Final = "rehearsal"
"""Provider of the built-in deterministic model."""


class Model(BaseModel):
    """Base of every value: immutable; readers ignore fields they do not know."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ModelUse(Model):
    """What one role's model was and what it cost, failed calls included."""

    role: Role
    model: str
    """`provider:model`, or `rehearsal:<version>` when no LLM took part."""
    prompt_version: str
    calls: int = Field(ge=0)
    """Every request that was sent, repeated ones too."""
    unanswered: int = Field(default=0, ge=0)
    """Those of the calls that brought no answer: refused, timed out, or cut off."""
    input_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    """Those of the input tokens that the provider had kept from earlier calls, if it tells."""
    output_tokens: int = Field(default=0, ge=0)
    estimated_tokens: int = Field(default=0, ge=0)
    """A guess, beside the counts, for answers of which the provider gave no count."""
    seconds: float = Field(ge=0)
    """Time spent waiting for the model."""

    @property
    def tokens(self) -> int:
        """Read and written together, as far as it is known or guessed."""
        return self.input_tokens + self.output_tokens + self.estimated_tokens

    @property
    def is_rehearsal(self) -> bool:
        """Whether the built-in model stood in for an LLM."""
        return self.model.startswith(f"{REHEARSAL}:")


class Failure(Model):
    """A failure of the platform, not of the skill: it makes a step `inconclusive`, not a zero."""

    category: FailureCategory
    reason: str = Field(max_length=2000)
    costs: tuple[ModelUse, ...] | None = None
    """What models had cost by then. None when nobody is left who could tell."""
    while_installing: bool = False
    """It happened while packages were being installed."""

    @classmethod
    def of(
        cls,
        category: FailureCategory,
        reason: str,
        *,
        costs: tuple[ModelUse, ...] | None = None,
        while_installing: bool = False,
    ) -> Self:
        """Build a failure, shortening a reason that is too long to send."""
        return cls(
            category=category,
            reason=reason[:2000],
            costs=costs,
            while_installing=while_installing,
        )


def _name_the_type(schema: dict[str, JsonValue], message: type["Message"]) -> None:
    properties = schema["properties"]
    assert isinstance(properties, dict)
    own = properties["message_type"]
    assert isinstance(own, dict)
    own.update({"const": message.SUBJECT, "default": message.SUBJECT})


class Message(Model):
    """Base of everything said on the bus. Within a schema version, changes only add."""

    model_config = ConfigDict(json_schema_extra=_name_the_type)

    SUBJECT: ClassVar[str]

    schema_version: Literal[1] = 1
    message_type: str = Field(default="", validate_default=True)
    """What this message is: its `SUBJECT`. No message is taken for another."""
    message_id: UUID = Field(default_factory=uuid4)
    occurred_at: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))

    @field_validator("message_type")
    @classmethod
    def _is_of_this_type(cls, given: str) -> str:
        if given not in ("", cls.SUBJECT):
            raise ValueError(f"this message is {given[:80]!r}, not {cls.SUBJECT!r}")
        return cls.SUBJECT

    @classmethod
    def said_as(cls, body: bytes) -> Self:
        """Read what was heard on the bus, where each message bears its type.

        Raises ValueError (pydantic's is one) when it is no such message, or does not say so.
        """
        message = cls.model_validate_json(body)
        if "message_type" not in message.model_fields_set:
            raise ValueError(f"this message does not say that it is {cls.SUBJECT!r}")
        return message

    def subject(self) -> str:
        """Where this message is published."""
        return self.SUBJECT

    def dedup_key(self) -> str:
        """The natural key of what this message says: saying it twice has the effect of once."""
        return f"{self.subject()}:{self.message_id}"


MESSAGE_BYTES: Final = 960 * 1024
"""What a message may have: the bus takes 1 MiB, headers included."""
LARGEST_BYTES: Final = 4 * 1024 * 1024
"""What work and results may have that are sent apart: more would hold up who reads them."""


class StoredBody(Model):
    """Where the body of a message lies, in the `messages` bucket, and what it is."""

    key: str
    sha256: str
    size: int = Field(ge=0, le=LARGEST_BYTES)


class SentApart(Model):
    """Said instead of work or a result that is too large for the bus."""

    message_type: str
    message_id: UUID
    work_id: UUID | None = None
    """What only the two who talk may know stays in the message: others may read the bucket."""
    sent_apart: StoredBody


class Step(Message):
    """A message about one step of one validation, at one attempt of it."""

    validation_id: UUID
    step_id: str
    """Natural key of the step: `<validation_id>.<what>`; equal for every attempt."""
    attempt: int = Field(ge=1)

    def dedup_key(self) -> str:
        return f"{self.subject()}:{self.step_id}:{self.attempt}"


class Result(Step):
    """What a worker says when a step has ended, well or not."""

    failure: Failure | None = None
    """Set when the platform failed; every other result field is then empty."""
    work_id: UUID | None = None
    """The `message_id` of the work that this answers. Nobody can guess it who did not get the
    work, and no result is taken without it."""
    worker: str | None = Field(default=None, max_length=200)
    """Who worked on it: the service, its machine and its process."""

    def dedup_key(self) -> str:
        # With what only the worker knows: nobody can say it first and have it dropped as told.
        return f"{super().dedup_key()}:{self.work_id}"


class Work(Step):
    """A step that the conductor asks a worker to carry out."""

    RESULT: ClassVar[type[Result]]

    skill_id: UUID
    skill_name: str
    lane: Lane = "shared"
    token_budget: int | None = Field(default=None, ge=0)
    """Tokens, read and written together, that models may use for this; none means no bound."""

    def subject(self) -> str:
        return self.subject_in(self.lane)

    @classmethod
    def dedup_keys(cls, step_id: str, attempt: int) -> tuple[str, ...]:
        """What `dedup_key` can be for that attempt, in whichever lane it was asked for."""
        return tuple(f"{cls.subject_in(lane)}:{step_id}:{attempt}" for lane in get_args(Lane))

    @classmethod
    def subject_in(cls, lane: Lane) -> str:
        """Where work of this kind is asked for in that lane."""
        return cls.SUBJECT if lane == "shared" else f"{cls.SUBJECT}.{lane}"

    def failed(self, failure: Failure) -> Result:
        """The result that says this step failed for a reason of ours."""
        return self.RESULT(
            validation_id=self.validation_id,
            step_id=self.step_id,
            attempt=self.attempt,
            failure=failure,
        )
