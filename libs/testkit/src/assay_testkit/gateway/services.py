"""Stand-ins for the services that the gateway asks, on a real bus."""

from datetime import UTC, datetime
from typing import Self, TypeVar
from uuid import UUID, uuid4

from pydantic import SecretStr

from assay_contracts.base import Message
from assay_contracts.full_tests import (
    CancelFullTest,
    FullTestPage,
    FullTestSummary,
    FullTestView,
    GetFullTest,
    ListFullTests,
    StartFullTest,
)
from assay_contracts.review import (
    ApproveReply,
    ApproveSkill,
    AuditPage,
    CancelValidation,
    DeleteReply,
    DeleteSkill,
    ListAudit,
    RejectReply,
    RejectSkill,
    RevalidateSkill,
    SkillAction,
    ValidationReply,
)
from assay_contracts.rpc import (
    BundleView,
    GetBundle,
    GetReport,
    GetSkill,
    GetStatus,
    IngestSubmit,
    ListSkills,
    ListValidations,
    PingRecords,
    Pong,
    Problem,
    ProblemError,
    ReportView,
    SkillDetail,
    SkillPage,
    SkillStatusView,
    SubmitReply,
    ValidationHistory,
)
from assay_contracts.runtime import (
    ListVersions,
    RollbackReply,
    RollbackRuntime,
    RuntimeVersion,
    RuntimeVersions,
)
from assay_contracts.skills import BundleRef
from assay_contracts.topology import ServiceName
from assay_contracts.validations import (
    ReportRef,
    ValidationProgressed,
)
from assay_servicekit.bus import Bus
from assay_servicekit.settings import ServiceSettings
from assay_servicekit.telemetry import current_traceparent
from assay_testkit.gateway.samples import WARNING, sample_full_test

T = TypeVar("T")

SKILL_NOT_FOUND = Problem(code="SKILL_NOT_FOUND", message="No skill has this id.")
FULL_TEST_NOT_FOUND = Problem(code="FULL_TEST_NOT_FOUND", message="No full test has this id.")


class _Service:
    """One service's place on the bus."""

    def __init__(self, nats_url: str, name: ServiceName) -> None:
        self.bus = Bus(ServiceSettings(nats_url=SecretStr(nats_url)), name)
        self.refusal: Problem | None = None
        """Given to every question while it is set."""
        self.asked: list[Message] = []
        self.traceparents: list[str | None] = []

    async def __aenter__(self) -> Self:
        await self.bus.connect()
        await self.bus.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.bus.stop()

    def _heard(self, question: Message) -> None:
        self.asked.append(question)
        self.traceparents.append(current_traceparent())
        if self.refusal is not None:
            raise ProblemError(self.refusal)


class Records(_Service):
    """Stands in for the scorer: knows what a test put there."""

    def __init__(self, nats_url: str) -> None:
        super().__init__(nats_url, "scorer")
        self.details: dict[UUID, SkillDetail] = {}
        self.statuses: dict[UUID, SkillStatusView] = {}
        self.reports: dict[UUID, ReportRef] = {}
        """By the id of the skill, or of an older validation of it."""
        self.bundles: dict[UUID, BundleRef] = {}
        self.full_tests: dict[UUID, FullTestView] = {}
        self.bus.on_question(PingRecords, self._ping)
        self.bus.on_question(ListSkills, self._list)
        self.bus.on_question(GetSkill, self._detail)
        self.bus.on_question(GetStatus, self._status)
        self.bus.on_question(GetReport, self._report)
        self.bus.on_question(GetBundle, self._bundle)
        self.bus.on_question(ListValidations, self._validations)
        self.bus.on_question(ApproveSkill, self._approve)
        self.bus.on_question(RejectSkill, self._reject)
        self.bus.on_question(DeleteSkill, self._delete)
        self.bus.on_question(RevalidateSkill, self._validation)
        self.bus.on_question(CancelValidation, self._validation)
        self.bus.on_question(ListAudit, self._audit)
        self.bus.on_question(ListVersions, self._versions)
        self.bus.on_question(RollbackRuntime, self._rollback)
        self.bus.on_question(StartFullTest, self._start_full_test)
        self.bus.on_question(GetFullTest, self._full_test)
        self.bus.on_question(ListFullTests, self._full_tests)
        self.bus.on_question(CancelFullTest, self._cancel_full_test)

    async def progress(self, status: SkillStatusView) -> None:
        """Record `status` and say live that there is progress."""
        self.statuses[status.skill_id] = status
        await self.bus.say(
            ValidationProgressed(
                validation_id=status.validation_id or uuid4(),
                skill_id=status.skill_id,
                step="online_run",
                detail=status.detail,
            )
        )

    async def _ping(self, _: PingRecords) -> Pong:
        return Pong()

    async def _list(self, question: ListSkills) -> SkillPage:
        self._heard(question)
        return SkillPage(
            skills=tuple(self.details.values()),
            total=len(self.details),
            page=question.page,
            size=question.size,
        )

    async def _detail(self, question: GetSkill) -> SkillDetail:
        self._heard(question)
        return _known(self.details, question.skill_id)

    async def _status(self, question: GetStatus) -> SkillStatusView:
        self._heard(question)
        return _known(self.statuses, question.skill_id)

    async def _report(self, question: GetReport) -> ReportView:
        self._heard(question)
        return ReportView(
            skill_id=question.skill_id,
            validation_id=question.validation_id or uuid4(),
            report=_known(self.reports, question.validation_id or question.skill_id),
        )

    async def _bundle(self, question: GetBundle) -> BundleView:
        self._heard(question)
        return BundleView(
            skill_id=question.skill_id,
            skill_name="csv-analyzer",
            revision=2,
            bundle=_known(self.bundles, question.skill_id),
        )

    async def _validations(self, question: ListValidations) -> ValidationHistory:
        self._heard(question)
        _known(self.details, question.skill_id)
        return ValidationHistory(validations=(), total=0, page=question.page, size=question.size)

    async def _approve(self, question: ApproveSkill) -> ApproveReply:
        self._heard(question)
        return ApproveReply(
            skill_id=question.skill_id,
            name="csv-analyzer",
            status="approved",
            runtime_version="v1.3",
            approved_at=datetime.now(UTC),
        )

    async def _reject(self, question: RejectSkill) -> RejectReply:
        self._heard(question)
        return RejectReply(
            skill_id=question.skill_id,
            name="csv-analyzer",
            status="rejected",
            reject_reason=question.reason,
            rejected_at=datetime.now(UTC),
        )

    async def _delete(self, question: DeleteSkill) -> DeleteReply:
        self._heard(question)
        return DeleteReply(
            skill_id=question.skill_id, name="csv-analyzer", deleted_at=datetime.now(UTC)
        )

    async def _validation(self, question: SkillAction) -> ValidationReply:
        self._heard(question)
        return ValidationReply(
            skill_id=question.skill_id, name="csv-analyzer", validation_id=uuid4()
        )

    async def _audit(self, question: ListAudit) -> AuditPage:
        self._heard(question)
        return AuditPage(entries=(), total=0, page=question.page, size=question.size)

    async def _versions(self, question: ListVersions) -> RuntimeVersions:
        self._heard(question)
        base = RuntimeVersion(
            version="v1.0",
            built_on=None,
            skill_id=None,
            skill_name=None,
            created_at=datetime.now(UTC),
            created_by="assay",
            is_current=True,
            is_available=True,
        )
        return RuntimeVersions(versions=(base,), current_version="v1.0", total=1)

    async def _rollback(self, question: RollbackRuntime) -> RollbackReply:
        self._heard(question)
        return RollbackReply(
            previous_version="v1.3",
            current_version=question.target_version,
            hidden_skills=("csv-analyzer",),
            restored_skills=(),
        )

    async def _start_full_test(self, question: StartFullTest) -> FullTestView:
        self._heard(question)
        view = sample_full_test().model_copy(update={"started_by": question.actor})
        self.full_tests[view.full_test_id] = view
        return view

    async def _full_test(self, question: GetFullTest) -> FullTestView:
        self._heard(question)
        return _known(self.full_tests, question.full_test_id, FULL_TEST_NOT_FOUND)

    async def _full_tests(self, question: ListFullTests) -> FullTestPage:
        self._heard(question)
        summaries = (FullTestSummary(**dict(view)) for view in self.full_tests.values())
        return FullTestPage(
            full_tests=tuple(summaries),
            total=len(self.full_tests),
            page=question.page,
            size=question.size,
        )

    async def _cancel_full_test(self, question: CancelFullTest) -> FullTestView:
        self._heard(question)
        view = _known(self.full_tests, question.full_test_id, FULL_TEST_NOT_FOUND)
        return view.model_copy(update={"status": "cancelled"})


class Ingest(_Service):
    """Stands in for ingest: takes every upload out of the store and accepts it."""

    def __init__(self, nats_url: str) -> None:
        super().__init__(nats_url, "ingest")
        self.received: list[bytes] = []
        self.bus.on_question(IngestSubmit, self._submit)

    async def chunks_kept(self) -> int:
        """How much lies in the bucket of uploads, in chunks of any upload."""
        info = await self.bus.jetstream().stream_info("OBJ_uploads", subjects_filter="$O.*.C.>")
        return sum((info.state.subjects or {}).values())

    async def _content(self, question: IngestSubmit) -> bytes:
        if question.content is not None:
            return question.content
        content = await self.bus.objects.get("uploads", str(question.upload_id))
        await self.bus.objects.delete("uploads", str(question.upload_id))
        return content

    async def _submit(self, question: IngestSubmit) -> SubmitReply:
        self._heard(question)
        self.received.append(await self._content(question))
        return SubmitReply(
            skill_id=uuid4(),
            name="csv-analyzer",
            status="pending",
            validation_id=uuid4() if question.start_validation else None,
            findings=(WARNING,),
        )


def _known(records: dict[UUID, T], key: UUID, unknown: Problem = SKILL_NOT_FOUND) -> T:
    if key not in records:
        raise ProblemError(unknown)
    return records[key]
