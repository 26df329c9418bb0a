"""Published schemas are current, old payloads still parse, every message has a home."""

import json
from pathlib import Path

import pytest

from assay_contracts.base import Message
from assay_contracts.schemas import schemas
from assay_contracts.topology import (
    CONSUMERS,
    FACTS,
    GRANTS,
    PUBLIC_FACTS,
    RECORDED,
    STREAMS,
    WORK_MESSAGES,
    WORKERS,
    stream_of,
)
from assay_contracts.validations import ValidationCompleted

SCHEMAS = Path(__file__).parents[2] / "libs/contracts/schemas"
PAYLOADS = Path(__file__).parent / "payloads"
PUBLIC: dict[str, type[Message]] = {message.SUBJECT: message for message in PUBLIC_FACTS}


def test_the_published_schemas_are_current() -> None:
    published = {path.name: path.read_text() for path in SCHEMAS.glob("*.json")}
    assert published == schemas(), "run `make schemas` and read what changed"


@pytest.mark.parametrize("path", sorted(PAYLOADS.glob("*.json")), ids=lambda path: path.stem)
def test_what_was_said_in_the_past_is_still_understood(path: Path) -> None:
    message = PUBLIC[path.stem].model_validate_json(path.read_text())
    assert holds(json.loads(message.model_dump_json()), json.loads(path.read_text()))


def test_there_is_something_said_in_the_past_for_every_public_fact() -> None:
    assert {path.stem for path in PAYLOADS.glob("*.json")} == set(PUBLIC)


def holds(now: object, then: object) -> bool:
    """Whether everything that was said then is there now, at any depth; more may be."""
    if isinstance(now, dict) and isinstance(then, dict):
        return all(key in now and holds(now[key], value) for key, value in then.items())
    return now == then


def test_a_reader_ignores_fields_it_does_not_know_and_refuses_other_versions() -> None:
    payload = json.loads((PAYLOADS / "validation.completed.json").read_text())
    ValidationCompleted.model_validate({**payload, "added_later": 1})
    with pytest.raises(ValueError, match="schema_version"):
        ValidationCompleted.model_validate({**payload, "schema_version": 2})


def test_every_stored_subject_belongs_to_one_stream() -> None:
    subjects = [subject for stream in STREAMS for subject in stream.subjects]
    assert len(subjects) == len(set(subjects))
    for stream in STREAMS:
        for subject in stream.subjects:
            assert stream_of(subject.replace(">", "x")) == stream.name


def test_every_fact_is_said_by_one_service_and_all_work_has_one_worker() -> None:
    for message in (*FACTS, *WORK_MESSAGES):
        speakers = [name for name, grant in GRANTS.items() if message in grant.says]
        assert len(speakers) == 1, message.SUBJECT
    assert set(WORKERS) == set(WORK_MESSAGES)


def test_every_question_asked_is_answered_by_one_service() -> None:
    asked = {question for grant in GRANTS.values() for question in grant.asks}
    for question in asked:
        answerers = [name for name, grant in GRANTS.items() if question in grant.answers]
        assert len(answerers) == 1, question.SUBJECT
    assert asked == {question for grant in GRANTS.values() for question in grant.answers}


def test_the_scorer_hears_the_result_of_all_work() -> None:
    assert {work.RESULT for work in WORK_MESSAGES} == set(RECORDED)
    heard = {consumer.subject for consumer in CONSUMERS if consumer.user == "scorer"}
    assert heard == {fact.SUBJECT for fact in RECORDED}
