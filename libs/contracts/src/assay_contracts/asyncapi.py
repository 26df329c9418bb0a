"""What other systems may hear: `python -m assay_contracts.asyncapi FILE` writes it as AsyncAPI."""

import json
import sys
from inspect import getdoc
from pathlib import Path
from typing import Final

from pydantic.json_schema import models_json_schema

from assay_contracts.base import Message
from assay_contracts.public_facts import EXAMPLES
from assay_contracts.topology import JETSTREAM_PREFIX, PUBLIC_FACTS, STREAMS, stream_of

VERSION: Final = "1.0.0"
"""The first number is the `schema_version` of the messages: within it, changes only add."""
SCHEMAS: Final = "#/components/schemas/"

_DESCRIPTION: Final = (
    "The public facts of Assay, on NATS. Each is said exactly once for each thing that happened "
    "and kept in the stream `{stream}` for {days} days. The user `observer` hears them live under "
    "their subjects, and misses nothing by the durable pull consumer `observer`, which is there "
    "already (JetStream's API prefix is `{prefix}`). It may set that consumer back to a sequence "
    "number, and read by sequence number or time directly. Delivery is at least once: the header "
    "`Nats-Msg-Id` is the natural key of what "
    "happened, so that a message seen twice can be told. Readers must ignore fields that they do "
    "not know."
)


def document() -> dict[str, object]:
    """The document, as data."""
    _, definitions = models_json_schema(
        [(fact, "serialization") for fact in PUBLIC_FACTS], ref_template=f"{SCHEMAS}{{model}}"
    )
    facts = next(stream for stream in STREAMS if stream.name == "FACTS")
    assert facts.max_age is not None
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Assay",
            "version": VERSION,
            "description": _DESCRIPTION.format(
                stream=facts.name, days=facts.max_age.days, prefix=JETSTREAM_PREFIX
            ),
        },
        "defaultContentType": "application/json",
        "channels": {fact.__name__: _channel(fact) for fact in PUBLIC_FACTS},
        "operations": {f"say{fact.__name__}": _operation(fact) for fact in PUBLIC_FACTS},
        "components": {
            "messages": {fact.__name__: _message(fact) for fact in PUBLIC_FACTS},
            "schemas": {"Headers": _HEADERS, **definitions["$defs"]},
        },
    }


_HEADERS: Final = {
    "type": "object",
    "required": ["Nats-Msg-Id"],
    "properties": {
        "Nats-Msg-Id": {
            "type": "string",
            "description": "The natural key of what happened: equal if it is said again.",
        },
        "traceparent": {
            "type": "string",
            "description": "The trace that led to it (W3C Trace Context), where there is one.",
        },
    },
}


def _channel(fact: type[Message]) -> dict[str, object]:
    return {
        "address": fact.SUBJECT,
        "description": f"Kept in the stream `{stream_of(fact.SUBJECT)}`.",
        "messages": {fact.__name__: {"$ref": f"#/components/messages/{fact.__name__}"}},
    }


def _operation(fact: type[Message]) -> dict[str, object]:
    return {
        "action": "send",
        "channel": {"$ref": f"#/channels/{fact.__name__}"},
        "summary": _summary(fact),
        "messages": [{"$ref": f"#/channels/{fact.__name__}/messages/{fact.__name__}"}],
    }


def _message(fact: type[Message]) -> dict[str, object]:
    return {
        "name": fact.SUBJECT,
        "title": fact.__name__,
        "summary": _summary(fact),
        "contentType": "application/json",
        "headers": {"$ref": f"{SCHEMAS}Headers"},
        "payload": {"$ref": f"{SCHEMAS}{fact.__name__}"},
        "examples": [
            {
                "name": example.SUBJECT,
                "headers": {
                    "Nats-Msg-Id": example.dedup_key(),
                    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                },
                "payload": example.model_dump(mode="json"),
            }
            for example in EXAMPLES
            if type(example) is fact
        ],
    }


def _summary(fact: type[Message]) -> str:
    return (getdoc(fact) or "").split("\n", 1)[0]


def rendered() -> str:
    """The document, as it is published."""
    return json.dumps(document(), indent=2) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(rendered())
