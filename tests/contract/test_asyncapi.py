"""The AsyncAPI document is current, valid, and says what is really said."""

import json
from collections.abc import Iterator
from pathlib import Path

from asyncapi3.models import AsyncAPI3  # type: ignore[import-untyped]  # it has types, unmarked

from assay_contracts.asyncapi import document, rendered
from assay_contracts.public_facts import EXAMPLES
from assay_contracts.topology import PUBLIC_FACTS

PUBLISHED = Path(__file__).parents[2] / "libs/contracts/asyncapi.json"


def test_the_published_document_is_current() -> None:
    assert PUBLISHED.read_text() == rendered(), "run `make schemas` and read what changed"


def test_it_is_an_asyncapi_document() -> None:
    AsyncAPI3.model_validate(json.loads(PUBLISHED.read_text()))


def found(data: object, reference: str) -> object:
    """What a reference within the document points to."""
    assert reference.startswith("#/")
    for key in reference.removeprefix("#/").split("/"):
        assert isinstance(data, dict)
        data = data[key]
    return data


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key == "$ref":
                yield each
            else:
                yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def test_every_reference_leads_somewhere() -> None:
    data = document()
    followed = set(references(data))
    assert len(followed) > len(PUBLIC_FACTS)
    for reference in followed:
        assert found(data, reference)


def test_every_public_fact_is_said_on_its_own_channel() -> None:
    data = document()
    channels, operations = data["channels"], data["operations"]
    assert isinstance(channels, dict)
    assert isinstance(operations, dict)
    assert [each["address"] for each in channels.values()] == [
        fact.SUBJECT for fact in PUBLIC_FACTS
    ]
    for channel, operation in zip(channels, operations.values(), strict=True):
        assert operation["action"] == "send"
        assert found(data, operation["channel"]["$ref"]) == channels[channel]


def test_every_public_fact_has_an_example_that_reads_as_one() -> None:
    assert [type(example) for example in EXAMPLES] == list(PUBLIC_FACTS)
    for fact, example in zip(PUBLIC_FACTS, EXAMPLES, strict=True):
        examples = found(document(), f"#/components/messages/{fact.__name__}/examples")
        assert isinstance(examples, list)
        (shown,) = examples
        assert fact.model_validate_json(json.dumps(shown["payload"])) == example
        assert shown["headers"]["Nats-Msg-Id"] == example.dedup_key()
