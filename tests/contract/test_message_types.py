"""Nothing that is said on the bus is taken for what it is not."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay_contracts.base import Message, SentApart, StoredBody
from assay_contracts.rpc import Rpc
from assay_contracts.topology import FACTS, GRANTS, WORK_MESSAGES
from assay_testkit.messages import message_of

MESSAGES: list[type[Message]] = sorted(
    {
        *FACTS,
        *WORK_MESSAGES,
        *(
            message
            for grant in GRANTS.values()
            for message in (*grant.says, *grant.asks, *grant.answers, *grant.listens)
        ),
    },
    key=lambda message: message.SUBJECT,
)


def is_taken(body: bytes, as_what: type[Message]) -> bool:
    try:
        as_what.said_as(body)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("contract", MESSAGES, ids=lambda each: each.SUBJECT)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_message_is_taken_for_itself_and_for_nothing_else(
    contract: type[Message], data: st.DataObject
) -> None:
    body = data.draw(message_of(contract)).model_dump_json().encode()
    assert [each for each in MESSAGES if is_taken(body, each)] == [contract]

    said = json.loads(body)
    del said["message_type"]
    assert not any(is_taken(json.dumps(said).encode(), each) for each in MESSAGES)
    lie = data.draw(st.sampled_from([each.SUBJECT for each in MESSAGES if each is not contract]))
    assert not is_taken(json.dumps({**said, "message_type": lie}).encode(), contract)


@pytest.mark.parametrize(
    "contract", [each for each in MESSAGES if issubclass(each, Rpc)], ids=lambda each: each.SUBJECT
)
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_a_question_with_a_field_of_another_message_is_refused(
    contract: type[Message], data: st.DataObject
) -> None:
    other = data.draw(st.sampled_from(MESSAGES))
    question = json.loads(data.draw(message_of(contract)).model_dump_json())
    foreign = set(other.model_fields) - set(contract.model_fields) | {"added_later"}
    field = data.draw(st.sampled_from(sorted(foreign)))
    assert is_taken(json.dumps(question).encode(), contract)
    assert not is_taken(json.dumps({**question, field: None}).encode(), contract)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"records.delete"',
        b"\xff",
        SentApart(
            message_type="records.delete",
            message_id="00000000-0000-0000-0000-000000000001",
            sent_apart=StoredBody(key="k", sha256="0" * 64, size=1),
        )
        .model_dump_json()
        .encode(),
    ],
)
def test_what_is_no_message_is_none(body: bytes) -> None:
    assert not any(is_taken(body, each) for each in MESSAGES)
