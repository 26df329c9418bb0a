"""Questions that one service asks another and waits for, and the shape of every refusal."""

from hashlib import sha256
from typing import ClassVar, Final, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import AwareDatetime, ConfigDict, Field, computed_field

from assay_contracts.base import Message, Model
from assay_contracts.scores import Scores
from assay_contracts.skills import (
    BundleRef,
    Finding,
    SkillManifest,
    SkillStatus,
    ValidationStage,
    messages_of,
)
from assay_contracts.validations import (
    FullTestSkill,
    ProgressStep,
    ReportRef,
    ValidationKind,
    Verdict,
)

ProblemCode = Literal[
    "UNAUTHORIZED",
    "FORBIDDEN",
    "NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "SKILL_NOT_FOUND",
    "IMAGE_NOT_FOUND",
    "FULL_TEST_NOT_FOUND",
    "SKILL_ALREADY_EXISTS",
    "VALIDATION_IN_PROGRESS",
    "REQUEST_IN_PROGRESS",
    "INVALID_SKILL_FORMAT",
    "INVALID_ZIP",
    "INVALID_REQUEST",
    "INVALID_STATUS_TRANSITION",
    "VALIDATION_NOT_COMPLETED",
    "REGRESSION_FAILED",
    "FILE_TOO_LARGE",
    "VALIDATION_TIMEOUT",
    "RATE_LIMITED",
    "DEPENDENCY_INSTALL_FAILED",
    "VALIDATION_ERROR",
    "SERVICE_UNAVAILABLE",
]


class ProblemDetails(Model):
    """What a program needs to act on a refusal; only the fields that apply are set."""

    findings: tuple[Finding, ...] = ()
    skill_id: UUID | None = None
    full_test_id: UUID | None = None
    same_as_revision: int | None = None
    """The revision of that skill whose content is the uploaded one, byte for byte."""
    retry_after_s: int | None = None
    error_id: str | None = None
    """Find it in the logs."""
    allowed: tuple[str, ...] = ()
    """What may be done instead."""
    failed_skills: tuple[str, ...] = ()
    """Approved skills that the one asked about broke."""
    fields: tuple[str, ...] = ()
    """Request fields that were wrong, each with why."""


class Problem(Model):
    """The shape of every refusal, over HTTP and between services."""

    code: ProblemCode
    message: str
    """What happened, why, and what to do."""
    details: ProblemDetails = ProblemDetails()


class ProblemError(Exception):
    """Raised where a question is refused; becomes a `Problem` at the edge."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


R = TypeVar("R", bound=Model)
R_co = TypeVar("R_co", bound=Model, covariant=True)


class Reply(Model, Generic[R]):
    """Exactly one of the two is set."""

    value: R | None = None
    problem: Problem | None = None


class Rpc(Message, Generic[R_co]):
    """A question. `REPLY` is the type of its answer.

    A field that the answerer does not know is a question that it does not understand.
    """

    model_config = ConfigDict(extra="forbid")

    REPLY: ClassVar[type[Model]]


class Repeatable(Message):
    """A question with an effect. Asked again with the same key, it has the first answer again."""

    idempotency_key: str | None = Field(default=None, max_length=64)
    """Unlike for any two callers."""

    def fingerprint(self) -> str:
        """Equal for what is the same request."""
        asked = self.model_dump_json(
            exclude={
                "message_id",
                "message_type",
                "occurred_at",
                "schema_version",
                "idempotency_key",
            }
        )
        return sha256(f"{self.SUBJECT} {asked}".encode()).hexdigest()


class Pong(Model):
    """Somebody answers, and has what they need to."""


class PingRecords(Rpc[Pong]):
    """Refused with `SERVICE_UNAVAILABLE` while the database is away."""

    SUBJECT: ClassVar[str] = "records.ping"
    REPLY = Pong


class PingIngest(Rpc[Pong]):
    SUBJECT: ClassVar[str] = "ingest.ping"
    REPLY = Pong


class SubmitReply(Model):
    skill_id: UUID
    name: str
    status: SkillStatus
    validation_id: UUID | None
    """None: none was to be started."""
    findings: tuple[Finding, ...] = ()
    revision: int = Field(default=1, ge=1)
    same_as_revision: int | None = None


SMALL_UPLOAD_BYTES: Final = 128 * 1024
"""Up to this size an upload is no burden to a message, which holds 1 MB."""


class IngestSubmit(Repeatable, Rpc[SubmitReply]):
    """Unpack, check and register an upload."""

    SUBJECT: ClassVar[str] = "ingest.submit"
    REPLY = SubmitReply

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    upload_id: UUID
    filename: str
    uploaded_by: str
    content: bytes | None = Field(default=None, max_length=SMALL_UPLOAD_BYTES)
    """A small upload, whole. None: it lies in the `uploads` bucket under its id."""
    start_validation: bool = True


class RegisterReply(Model):
    skill_id: UUID
    revision: int
    status: SkillStatus
    validation_id: UUID | None
    same_as_revision: int | None = None
    """The newest earlier revision with this very content."""


class RegisterSkill(Repeatable, Rpc[RegisterReply]):
    """Record a checked upload and queue its validation if one is to start, in one transaction.

    Refused with `SKILL_ALREADY_EXISTS` when the name is in use; a rejected skill gets its next
    revision. Idempotent by `upload_id`.
    """

    SUBJECT: ClassVar[str] = "records.register"
    REPLY = RegisterReply

    upload_id: UUID
    uploaded_by: str
    bundle: BundleRef
    manifest: SkillManifest
    findings: tuple[Finding, ...] = ()
    start_validation: bool = True

    def fingerprint(self) -> str:
        """Of the content alone: each sending of it has an id and a place of its own."""
        asked = f"{self.SUBJECT} {self.bundle.sha256} {self.start_validation}"
        return sha256(asked.encode()).hexdigest()


class SkillSummary(Model):
    skill_id: UUID
    name: str
    description: str
    status: SkillStatus
    validation_stage: ValidationStage | None
    validation_score: float | None
    layer1_passed: bool | None
    layer2_passed: bool | None
    created_at: AwareDatetime
    validated_at: AwareDatetime | None


class SkillPage(Model):
    skills: tuple[SkillSummary, ...]
    total: int
    page: int
    size: int


class ListSkills(Rpc[SkillPage]):
    SUBJECT: ClassVar[str] = "records.list-skills"
    REPLY = SkillPage

    status: SkillStatus | None = None
    validation_stage: ValidationStage | None = None
    q: str | None = None
    page: int = Field(default=1, ge=1)
    size: int = Field(default=20, ge=1, le=100)


class SkillDetail(SkillSummary):
    """One skill, its newest revision, and how its newest validation went."""

    revision: int
    bundle_sha256: str
    uploaded_by: str
    manifest: SkillManifest
    findings: tuple[Finding, ...]
    validation_id: UUID | None
    verdict: Verdict | None
    reason: str | None
    scores: Scores | None
    last_full_test_id: UUID | None = None
    last_full_test_at: AwareDatetime | None = None
    full_test_results: FullTestSkill | None = None
    """How the skill fared in the last full test that came to an end with it."""

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def format_valid(self) -> bool:
        return not self.format_errors

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def format_errors(self) -> tuple[str, ...]:
        return messages_of(self.findings, "error")

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def format_warnings(self) -> tuple[str, ...]:
        return messages_of(self.findings, "warning")


class GetSkill(Rpc[SkillDetail]):
    SUBJECT: ClassVar[str] = "records.get-skill"
    REPLY = SkillDetail

    skill_id: UUID


class SkillStatusView(Model):
    """How far the newest validation of a skill has come, full tests apart."""

    skill_id: UUID
    name: str
    status: SkillStatus
    validation_id: UUID | None
    validation_stage: ValidationStage | None
    step: ProgressStep | None
    detail: str
    progress: float = Field(ge=0, le=1)
    tasks_done: int
    tasks_total: int
    scores: Scores | None
    verdict: Verdict | None
    reason: str | None
    started_at: AwareDatetime | None
    completed_at: AwareDatetime | None


class GetStatus(Rpc[SkillStatusView]):
    SUBJECT: ClassVar[str] = "records.get-status"
    REPLY = SkillStatusView

    skill_id: UUID


class ReportView(Model):
    skill_id: UUID
    validation_id: UUID
    report: ReportRef


class GetReport(Rpc[ReportView]):
    """Refused with `VALIDATION_NOT_COMPLETED` while there is none.

    And with `NOT_FOUND` if the skill has no such validation.
    """

    SUBJECT: ClassVar[str] = "records.get-report"
    REPLY = ReportView

    skill_id: UUID
    validation_id: UUID | None = None
    """None: the newest that has ended, full tests apart."""


class BundleView(Model):
    skill_id: UUID
    skill_name: str
    revision: int
    bundle: BundleRef


class GetBundle(Rpc[BundleView]):
    """Where the bundle of a skill's newest revision lies."""

    SUBJECT: ClassVar[str] = "records.get-bundle"
    REPLY = BundleView

    skill_id: UUID
    validation_id: UUID | None = None
    """None: the newest that has ended, full tests apart."""


class ValidationSummary(Model):
    """One validation of a skill, as it ended or as far as it is."""

    validation_id: UUID
    revision: int
    kind: ValidationKind
    validation_stage: ValidationStage
    verdict: Verdict | None
    reason: str | None
    scores: Scores | None
    layer1_passed: bool | None
    layer2_passed: bool | None
    queued_at: AwareDatetime
    started_at: AwareDatetime | None
    completed_at: AwareDatetime | None


class ValidationHistory(Model):
    validations: tuple[ValidationSummary, ...]
    """Newest first."""
    total: int
    page: int
    size: int


class ListValidations(Rpc[ValidationHistory]):
    """Refused with `SKILL_NOT_FOUND`."""

    SUBJECT: ClassVar[str] = "records.list-validations"
    REPLY = ValidationHistory

    skill_id: UUID
    page: int = Field(default=1, ge=1)
    size: int = Field(default=20, ge=1, le=100)


QUESTIONS: Final[tuple[type[Message], ...]] = (
    PingRecords,
    ListSkills,
    GetSkill,
    GetStatus,
    GetReport,
    GetBundle,
    ListValidations,
)
"""What the gateway asks of the records here."""
