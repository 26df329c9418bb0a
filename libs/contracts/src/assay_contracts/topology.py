"""The bus as data: streams, consumers, buckets, and who may say and hear what."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal, get_args

from assay_contracts import full_tests, review, rpc, runtime, workbench
from assay_contracts.base import Lane, Message, Result, Work
from assay_contracts.full_tests import FullTestProgressed
from assay_contracts.grades import GradingRequested, RunGraded
from assay_contracts.public_facts import EXAMPLES
from assay_contracts.reports import ReportRequested, ReportWritten
from assay_contracts.rpc import IngestSubmit, PingIngest, RegisterSkill
from assay_contracts.runs import RunFinished, RunRequested
from assay_contracts.validations import (
    CleanupFinished,
    CleanupRequested,
    KeepFinished,
    KeepRequested,
    ValidationPlanned,
    ValidationProgressed,
    ValidationRequested,
)

ServiceName = Literal["ingest", "sandbox-runner", "judge", "scorer", "gateway"]
StreamName = Literal["FACTS", "RESULTS", "WORK", "DEAD"]
BucketName = Literal[
    "uploads",
    "bundles",
    "traces",
    "judging",
    "reports",
    "environments",
    "contents",
    "kept-environments",
    "kept-contents",
    "messages",
]

SubscriberName = Literal["observer"]
"""Another system that listens: it has a bus user, an account and a durable consumer of this name,
and may read public facts and nothing else."""
BusUser = ServiceName | SubscriberName

SERVICES: Final[tuple[ServiceName, ...]] = get_args(ServiceName)
SUBSCRIBERS: Final[tuple[SubscriberName, ...]] = get_args(SubscriberName)
BUS_USERS: Final[tuple[BusUser, ...]] = (*SERVICES, *SUBSCRIBERS)
JETSTREAM_PREFIX: Final = "JS.API"
"""Where a user finds JetStream in its own account; clients call it the API prefix."""
REPEATED_AS: Final = "live"
"""A public fact that its stream has taken is said once more below this, for who listens live."""

ACK_WAIT: Final = timedelta(seconds=15)
"""A worker that says nothing for this long is taken for dead."""
HEARTBEAT: Final = ACK_WAIT / 3
SHARED_DELIVERIES: Final = 2
"""Deaths of a worker on one step, shared or background, before the step is tried alone."""
SOLO_DELIVERIES: Final = 3
"""Deaths on the solo lane before the step is given up."""
LANES: Final[tuple[Lane, ...]] = get_args(Lane)

WORK_MESSAGES: Final[tuple[type[Work], ...]] = (
    ValidationRequested,
    RunRequested,
    GradingRequested,
    ReportRequested,
    CleanupRequested,
    KeepRequested,
)
PUBLIC_FACTS: Final[tuple[type[Message], ...]] = tuple(type(example) for example in EXAMPLES)
RECORDED: Final = (
    ValidationPlanned,
    RunFinished,
    RunGraded,
    ReportWritten,
    CleanupFinished,
    KeepFinished,
)
"""The results that the scorer takes in."""
FACTS: Final[tuple[type[Message], ...]] = (*PUBLIC_FACTS, *RECORDED)


@dataclass(frozen=True, slots=True)
class Stream:
    name: StreamName
    subjects: tuple[str, ...]
    work_queue: bool
    """A work queue drops a message once it is acknowledged and refuses new ones when full."""
    max_age: timedelta | None
    duplicate_window: timedelta
    repeated: bool = False
    """What it has taken is said once more, below `REPEATED_AS`."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """A durable pull consumer: the replicas of one service share it, or a subscriber has it."""

    name: str
    stream: StreamName
    user: BusUser
    subject: str | None
    """None: everything in the stream."""
    max_ack_pending: int


@dataclass(frozen=True, slots=True)
class Bucket:
    name: BucketName
    ttl: timedelta | None


@dataclass(frozen=True, slots=True)
class Grant:
    """What one service may do on the bus, beside its consumers."""

    says: tuple[type[Message], ...]
    asks: tuple[type[Message], ...]
    answers: tuple[type[Message], ...]
    listens: tuple[type[Message], ...]
    """Heard live, without a stream."""
    reads: tuple[BucketName, ...]
    writes: tuple[BucketName, ...]
    deletes: tuple[BucketName, ...] = ()
    replays: tuple[StreamName, ...] = ()
    """Read by sequence number, beside the declared consumers, and heard live."""


STREAMS: Final = (
    Stream(
        name="FACTS",
        subjects=tuple(message.SUBJECT for message in PUBLIC_FACTS),
        work_queue=False,
        max_age=timedelta(days=30),
        duplicate_window=timedelta(hours=24),
        repeated=True,
    ),
    # Apart from the public facts: who reads that stream reads nothing that is not public.
    Stream(
        name="RESULTS",
        subjects=tuple(message.SUBJECT for message in RECORDED),
        work_queue=False,
        max_age=timedelta(days=30),
        duplicate_window=timedelta(hours=24),
    ),
    Stream(
        name="WORK",
        # By name: the server refuses wildcards that would match its own `$JS` subjects.
        subjects=tuple(message.subject_in(lane) for message in WORK_MESSAGES for lane in LANES),
        work_queue=True,
        max_age=None,
        duplicate_window=timedelta(hours=1),
    ),
    Stream(
        name="DEAD",
        subjects=("dead.>",),
        work_queue=False,
        max_age=timedelta(days=30),
        duplicate_window=timedelta(hours=1),
    ),
)

BUCKETS: Final = (
    Bucket("uploads", ttl=timedelta(hours=1)),
    Bucket("bundles", ttl=None),
    Bucket("traces", ttl=None),
    Bucket("judging", ttl=timedelta(days=30)),
    Bucket("reports", ttl=None),
    # Locks by name, and the packages and files they are made of by their digest: those that wait
    # for an approval, and those of runtime versions.
    Bucket("environments", ttl=timedelta(days=7)),
    Bucket("contents", ttl=timedelta(days=7)),
    Bucket("kept-environments", ttl=None),
    Bucket("kept-contents", ttl=None),
    Bucket("messages", ttl=timedelta(days=30)),
)

WORKERS: Final[dict[type[Work], ServiceName]] = {
    ValidationRequested: "judge",
    RunRequested: "sandbox-runner",
    GradingRequested: "judge",
    ReportRequested: "judge",
    CleanupRequested: "sandbox-runner",
    KeepRequested: "sandbox-runner",
}
_QUESTIONS: Final[tuple[type[Message], ...]] = (
    *rpc.QUESTIONS,
    *review.QUESTIONS,
    *runtime.QUESTIONS,
    *full_tests.QUESTIONS,
)
"""What the gateway asks of the records."""

_OF_ENVIRONMENTS: Final[tuple[BucketName, ...]] = (
    "environments",
    "contents",
    "kept-environments",
    "kept-contents",
)

GRANTS: Final[dict[ServiceName, Grant]] = {
    "gateway": Grant(
        says=(),
        asks=(IngestSubmit, PingIngest, *_QUESTIONS),
        answers=(),
        listens=(ValidationProgressed, FullTestProgressed),
        reads=("bundles", "traces", "reports"),
        writes=("uploads",),
        deletes=("uploads",),
        replays=("FACTS",),
    ),
    "ingest": Grant(
        says=(),
        asks=(RegisterSkill,),
        answers=(IngestSubmit, PingIngest),
        listens=(),
        reads=("uploads",),
        writes=("bundles",),
        deletes=("uploads", "bundles"),
    ),
    "judge": Grant(
        says=(ValidationPlanned, RunGraded, ReportWritten, ValidationProgressed),
        asks=workbench.QUESTIONS,
        answers=(),
        listens=(),
        reads=("bundles", "traces", "messages"),
        writes=("judging", "messages"),
    ),
    "sandbox-runner": Grant(
        says=(RunFinished, CleanupFinished, KeepFinished, ValidationProgressed),
        asks=(),
        answers=workbench.QUESTIONS,
        listens=(),
        reads=("bundles", "messages", *_OF_ENVIRONMENTS),
        writes=("traces", "messages", *_OF_ENVIRONMENTS),
        deletes=_OF_ENVIRONMENTS,
    ),
    "scorer": Grant(
        says=(*WORK_MESSAGES, *PUBLIC_FACTS, ValidationProgressed, FullTestProgressed),
        asks=(),
        answers=(RegisterSkill, *_QUESTIONS),
        listens=(ValidationProgressed,),
        reads=("bundles", "traces", "reports", "messages"),
        writes=("reports", "messages"),
        deletes=("bundles", "traces", "reports"),
    ),
}


def consumer_name(service: ServiceName, subject: str) -> str:
    """`judge` and `run.requested.solo` give `judge-run-requested-solo`."""
    return f"{service}-{subject.replace('.', '-')}"


def _consumers() -> tuple[Consumer, ...]:
    work = (
        Consumer(
            consumer_name(service, message.subject_in(lane)),
            "WORK",
            service,
            message.subject_in(lane),
            # One message in flight for all replicas together: that is what makes the lane solo.
            1 if lane == "solo" else 1000,
        )
        for message, service in WORKERS.items()
        for lane in LANES
    )
    results = (
        Consumer(consumer_name("scorer", fact.SUBJECT), "RESULTS", "scorer", fact.SUBJECT, 1000)
        for fact in RECORDED
    )
    outside = (Consumer(name, "FACTS", name, None, 1000) for name in SUBSCRIBERS)
    return (*work, *results, *outside)


CONSUMERS: Final = _consumers()


_STREAM_OF: Final = {subject: stream.name for stream in STREAMS for subject in stream.subjects}


def asked_as(result: Result) -> tuple[str, ...]:
    """The dedup keys that the work can have which this answers."""
    return tuple(
        key
        for work in WORK_MESSAGES
        if isinstance(result, work.RESULT)
        for key in work.dedup_keys(result.step_id, result.attempt)
    )


def stream_of(subject: str) -> StreamName | None:
    """The stream that keeps `subject`, or None for what is only said live."""
    return "DEAD" if subject.startswith("dead.") else _STREAM_OF.get(subject)
