"""The accounts of the bus, worked out from the declared topology.

The server says things on behalf of who asks it: a consumer delivers to the subject it was made
with, and every answer goes to the reply subject that the asker names. Permissions are not asked
there. What holds it are accounts: nothing leaves one but what is exported to a named other, and
nobody can name a subject outside of its own. So each user is alone in an account, the streams are
in one that no user is in, and questions live in the account of who answers them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from assay_contracts.base import Message, Work
from assay_contracts.topology import (
    BUCKETS,
    BUS_USERS,
    CONSUMERS,
    GRANTS,
    JETSTREAM_PREFIX,
    LANES,
    PUBLIC_FACTS,
    REPEATED_AS,
    SERVICES,
    BucketName,
    BusUser,
    ServiceName,
    StreamName,
    stream_of,
)

STREAMS_ACCOUNT: Final = "ASSAY"
"""Holds every stream; nobody connects to it."""
SYSTEM_ACCOUNT: Final = "SYS"
INBOX: Final = "_INBOX.>"
ANSWER_WITHIN: Final = "10m"
"""How long an answer may follow its question."""

_SHAPING: Final = (
    "$JS.API.STREAM.CREATE.*",
    "$JS.API.STREAM.UPDATE.*",
    "$JS.API.STREAM.DELETE.*",
    "$JS.API.STREAM.INFO.*",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.PURGE.*",
    "$JS.API.STREAM.MSG.GET.*",
    "$JS.API.CONSUMER.CREATE.>",
    "$JS.API.CONSUMER.DURABLE.CREATE.*.*",
    "$JS.API.CONSUMER.DELETE.*.*",
    "$JS.API.CONSUMER.INFO.*.*",
    "$JS.API.CONSUMER.LIST.*",
)
"""Applying the topology, looking after it, and removing what is no longer needed."""
_SHAPER: Final[ServiceName] = "scorer"
_MANY_ANSWERS: Final = ("$JS.API.CONSUMER.MSG.NEXT.", "$JS.API.DIRECT.GET.")


@dataclass(frozen=True, slots=True)
class Import:
    """A subject of another account, under a name of one's own."""

    account: str
    subject: str
    to: str


@dataclass(frozen=True, slots=True)
class Account:
    """What one user may do, and with it its whole account: the user is alone there."""

    user: BusUser
    calls: tuple[Import, ...]
    """What it may say to another account, and have an answer from there."""
    hears: tuple[Import, ...]
    """What it hears from another account as it is said."""
    answers: tuple[str, ...]
    """Questions that live here."""
    tells: tuple[str, ...]
    """What it says live, to whoever imports it."""

    @property
    def publish(self) -> tuple[str, ...]:
        return (*(each.to for each in self.calls), *self.tells)

    @property
    def subscribe(self) -> tuple[str, ...]:
        heard = dict.fromkeys(each.to for each in self.hears)
        return (INBOX, *self.answers, *heard)


def account_name(user: BusUser) -> str:
    """`sandbox-runner` gives `SANDBOX_RUNNER`."""
    return user.upper().replace("-", "_")


def account_of(user: BusUser) -> Account:
    """What the topology lets this user do."""
    if user not in SERVICES:
        return Account(user, _imported(_reading_facts(user)), _repeated_facts(), (), ())
    grant = GRANTS[user]
    stored, tells = _split(grant.says)
    calls = [
        *stored,
        *_consuming(user),
        *(call for bucket in BUCKETS for call in _storing(user, bucket.name)),
        *(call for stream in grant.replays for call in _replaying(stream)),
        *(_SHAPING if user == _SHAPER else ()),
    ]
    listens = tuple(
        Import(account_name(teller), live.SUBJECT, live.SUBJECT)
        for live in grant.listens
        for teller in SERVICES
        if live in GRANTS[teller].says and teller != user
    )
    return Account(
        user,
        (
            *_imported(calls),
            *(Import(_owner(asked), asked.SUBJECT, asked.SUBJECT) for asked in grant.asks),
        ),
        (*listens, *(_repeated_facts() if "FACTS" in grant.replays else ())),
        tuple(question.SUBJECT for question in grant.answers),
        tells,
    )


def accounts_config(passwords: Mapping[BusUser, str]) -> dict[str, object]:
    """The section `accounts` of the server's configuration."""
    accounts = {account_name(user): account_of(user) for user in BUS_USERS}
    return {
        STREAMS_ACCOUNT: {
            "jetstream": "enabled",
            "exports": _exports(STREAMS_ACCOUNT, accounts),
        },
        **{
            name: {
                "users": [_user(account, passwords[account.user])],
                "exports": _exports(name, accounts),
                "imports": [
                    *(_imports("service", each) for each in account.calls),
                    *(_imports("stream", each) for each in account.hears),
                ],
            }
            for name, account in accounts.items()
        },
        SYSTEM_ACCOUNT: {},
    }


def _split(says: Iterable[type[Message]]) -> tuple[list[str], tuple[str, ...]]:
    """The subjects that a stream keeps, and those that are only said live."""
    subjects = [
        subject
        for message in says
        for subject in (
            [message.subject_in(lane) for lane in LANES]
            if issubclass(message, Work)
            else [message.SUBJECT]
        )
    ]
    stored = [subject for subject in subjects if stream_of(subject)]
    return stored, tuple(subject for subject in subjects if not stream_of(subject))


def _consuming(user: BusUser) -> list[str]:
    calls: list[str] = []
    for consumer in CONSUMERS:
        if consumer.user == user:
            where = f"{consumer.stream}.{consumer.name}"
            calls += [
                f"$JS.API.CONSUMER.INFO.{where}",
                f"$JS.API.CONSUMER.MSG.NEXT.{where}",
                f"$JS.ACK.{where}.>",
            ]
            if consumer.subject is not None:
                calls.append(f"dead.{consumer.subject}")
    return calls


def _reading_facts(user: BusUser) -> list[str]:
    """By the durable consumer of its own, which it may also set back to an earlier message."""
    return [
        *_consuming(user),
        *_replaying("FACTS"),
        *(
            f"$JS.API.CONSUMER.RESET.{consumer.stream}.{consumer.name}"
            for consumer in CONSUMERS
            if consumer.user == user
        ),
    ]


def _storing(service: ServiceName, bucket: BucketName) -> list[str]:
    grant, stream = GRANTS[service], f"OBJ_{bucket}"
    calls: list[str] = []
    if bucket in (*grant.reads, *grant.deletes):
        calls += [f"$JS.API.STREAM.INFO.{stream}", f"$JS.API.DIRECT.GET.{stream}"]
    if bucket in grant.writes:
        calls += [f"$JS.API.STREAM.INFO.{stream}", f"$O.{bucket}.C.*", f"$O.{bucket}.M.*"]
    if bucket in grant.deletes:
        calls.append(f"$JS.API.STREAM.PURGE.{stream}")
    return calls


def _replaying(stream: StreamName) -> list[str]:
    return [f"$JS.API.STREAM.INFO.{stream}", f"$JS.API.DIRECT.GET.{stream}"]


def _repeated_facts() -> tuple[Import, ...]:
    return tuple(
        Import(STREAMS_ACCOUNT, f"{REPEATED_AS}.{fact.SUBJECT}", fact.SUBJECT)
        for fact in PUBLIC_FACTS
    )


def _imported(calls: Iterable[str]) -> tuple[Import, ...]:
    """Each once, and none that another covers: the server would carry out both."""
    unique = list(dict.fromkeys(calls))
    return tuple(
        Import(STREAMS_ACCOUNT, call, call.replace("$JS.API", JETSTREAM_PREFIX, 1))
        for call in unique
        if not any(other != call and covers(other, call) for other in unique)
    )


def covers(pattern: str, subject: str) -> bool:
    """Whether everything that `subject` stands for is also meant by `pattern`."""
    wanted, given = pattern.split("."), subject.split(".")
    if wanted[-1] == ">" and len(given) >= len(wanted):
        wanted, given = wanted[:-1], given[: len(wanted) - 1]
    return len(wanted) == len(given) and all(
        word == part or (word == "*" and part != ">")
        for word, part in zip(wanted, given, strict=True)
    )


def _owner(question: type[Message]) -> str:
    (owner,) = (name for name in SERVICES if question in GRANTS[name].answers)
    return account_name(owner)


def _exports(owner: str, accounts: Mapping[str, Account]) -> list[dict[str, object]]:
    """What the others import from `owner`, each subject for exactly those."""
    services: dict[str, list[str]] = {}
    streams: dict[str, list[str]] = {}
    for name, account in accounts.items():
        for taken, exported in ((account.calls, services), (account.hears, streams)):
            for each in taken:
                if each.account == owner:
                    exported.setdefault(each.subject, []).append(name)
    return [
        *(_service_export(subject, to) for subject, to in services.items()),
        *(_stream_export(subject, to) for subject, to in streams.items()),
    ]


def _service_export(subject: str, accounts: Sequence[str]) -> dict[str, object]:
    many = {"response_type": "stream"} if subject.startswith(_MANY_ANSWERS) else {}
    return {"service": subject, "accounts": list(accounts), **many}


def _stream_export(subject: str, accounts: Sequence[str]) -> dict[str, object]:
    return {"stream": subject, "accounts": list(accounts)}


def _imports(kind: Literal["service", "stream"], imported: Import) -> dict[str, object]:
    renamed = {} if imported.to == imported.subject else {"to": imported.to}
    return {kind: {"account": imported.account, "subject": imported.subject}, **renamed}


def _user(account: Account, password: str) -> dict[str, object]:
    return {
        "user": account.user,
        "password": password,
        "permissions": {
            "publish": {"allow": list(account.publish)},
            "subscribe": {"allow": list(account.subscribe)},
            **(
                {"allow_responses": {"max": 1, "expires": ANSWER_WITHIN}} if account.answers else {}
            ),
        },
    }
