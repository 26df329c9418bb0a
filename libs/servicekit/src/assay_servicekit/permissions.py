"""What each bus user may publish and subscribe to, worked out from the declared topology."""

from dataclasses import dataclass

from assay_contracts.base import Work
from assay_contracts.topology import (
    CONSUMERS,
    GRANTS,
    LANES,
    PUBLIC_FACTS,
    BucketName,
    ServiceName,
)

OBSERVER = "observer"
"""The user of other systems: reads public facts, says nothing."""


@dataclass(frozen=True, slots=True)
class Permissions:
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def _reading(bucket: BucketName) -> tuple[str, ...]:
    stream = f"OBJ_{bucket}"
    return (
        f"$JS.API.STREAM.INFO.{stream}",
        f"$JS.API.STREAM.MSG.GET.{stream}",
        f"$JS.API.CONSUMER.CREATE.{stream}",
        f"$JS.API.CONSUMER.CREATE.{stream}.>",
        f"$JS.API.CONSUMER.DELETE.{stream}.>",
        f"$JS.API.CONSUMER.INFO.{stream}.>",
        "$JS.API.STREAM.NAMES",
        f"$JS.FC.{stream}.>",
    )


def _writing(bucket: BucketName) -> tuple[str, ...]:
    return (*_reading(bucket), f"$O.{bucket}.>", f"$JS.API.STREAM.PURGE.OBJ_{bucket}")


def service_permissions(service: ServiceName) -> Permissions:
    """The allow-list of one service's bus user."""
    grant = GRANTS[service]
    inbox = f"_IN.{service}.>"
    publish: list[str] = []
    for message in grant.says:
        if issubclass(message, Work):
            publish += [message.subject_in(lane) for lane in LANES]
        else:
            publish.append(message.SUBJECT)
    publish += [question.SUBJECT for question in grant.asks]
    if grant.answers:
        publish += ["_IN.*.>"]
    for consumer in CONSUMERS:
        if consumer.service == service:
            where = f"{consumer.stream}.{consumer.name}"
            publish += [
                f"$JS.API.CONSUMER.INFO.{where}",
                f"$JS.API.CONSUMER.MSG.NEXT.{where}",
                f"$JS.ACK.{where}.>",
                f"dead.{consumer.subject}",
            ]
    for stream in grant.replays:
        # Consumers without a name: they read along and can take nothing from anybody.
        publish += [f"$JS.API.CONSUMER.CREATE.{stream}", f"$JS.API.STREAM.INFO.{stream}"]
    for bucket in grant.reads:
        publish += _reading(bucket)
    for bucket in grant.writes:
        publish += _writing(bucket)
    if service == "scorer":
        publish.append("$JS.API.>")
    subscribe = [inbox, *(m.SUBJECT for m in (*grant.answers, *grant.listens))]
    return Permissions(tuple(dict.fromkeys(publish)), tuple(dict.fromkeys(subscribe)))


def observer_permissions() -> Permissions:
    """Read public facts, live or by the durable consumer named `observer`, and nothing else.

    The consumer's name is fixed because the server matches whole tokens: a wildcard there would
    let an observer draw messages from the services' own consumers.
    """
    return Permissions(
        publish=(
            "$JS.API.STREAM.INFO.FACTS",
            "$JS.API.STREAM.NAMES",
            f"$JS.API.CONSUMER.INFO.FACTS.{OBSERVER}",
            f"$JS.API.CONSUMER.MSG.NEXT.FACTS.{OBSERVER}",
            f"$JS.ACK.FACTS.{OBSERVER}.>",
            *(f"$JS.API.CONSUMER.CREATE.FACTS.{OBSERVER}.{m.SUBJECT}" for m in PUBLIC_FACTS),
        ),
        subscribe=("_INBOX.>", *(message.SUBJECT for message in PUBLIC_FACTS)),
    )
