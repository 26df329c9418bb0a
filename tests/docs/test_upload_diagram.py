"""The picture of an upload is true: every message goes from who says it to who hears it."""

import re
from typing import Final

import pytest
from tests.architecture.packages import ROOT

from assay_contracts.base import Message
from assay_contracts.schemas import schemas
from assay_contracts.topology import (
    FACTS,
    GRANTS,
    PUBLIC_FACTS,
    RECORDED,
    WORK_MESSAGES,
    WORKERS,
    ServiceName,
)

PAGE: Final = (ROOT / "docs" / "upload.md").read_text()
ARROW: Final = re.compile(r"^ *(\w+)->>(\w+): ([a-z-]+\.[a-z-]+)", re.MULTILINE)
ARROWS: Final = ARROW.findall(PAGE)
PARTICIPANTS: Final[dict[str, ServiceName]] = {
    **{service: service for service in GRANTS},
    "runner": "sandbox-runner",
}


def subjects(messages: tuple[type[Message], ...]) -> set[str]:
    return {message.SUBJECT for message in messages}


def heard_by(participant: str) -> set[str]:
    if participant == "others":
        return subjects(PUBLIC_FACTS)
    service = PARTICIPANTS[participant]
    work = {message.SUBJECT for message, worker in WORKERS.items() if worker == service}
    results = subjects(RECORDED) if service == "scorer" else set()
    return work | results | subjects(GRANTS[service].answers)


@pytest.mark.parametrize("arrow", sorted(set(ARROWS)), ids=" ".join)
def test_an_arrow_goes_from_who_says_it_to_who_hears_it(arrow: tuple[str, str, str]) -> None:
    sender, receiver, subject = arrow
    grant = GRANTS[PARTICIPANTS[sender]]
    assert subject in subjects((*grant.says, *grant.asks)), f"{sender} does not say {subject}"
    assert subject in heard_by(receiver), f"{receiver} does not hear {subject}"


def test_all_work_and_all_results_are_in_the_picture() -> None:
    drawn = {subject for _, _, subject in ARROWS}
    assert subjects((*WORK_MESSAGES, *RECORDED)) <= drawn


def test_every_subject_in_the_text_exists() -> None:
    known = {name.removesuffix(".json") for name in schemas()} | subjects(FACTS)
    named = re.findall(r"`([a-z-]+\.[a-z-]+)`", PAGE)
    assert set(named) <= known
