"""Live progress, as server-sent events.

Every event carries a whole state, and its id is a digest of that state: whoever
comes back with the id of the last event it saw is shown what has changed since, or nothing if
nothing has.
"""

from collections.abc import AsyncIterator
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Response
from sse_starlette import ServerSentEvent

from assay_contracts.base import Model
from assay_contracts.full_tests import GetFullTest
from assay_contracts.rpc import GetStatus, Problem, ProblemCode
from assay_gateway.adapters.http.problems import Responses, responses
from assay_gateway.adapters.http.server_sent_events import EventStream
from assay_gateway.ports import R
from assay_gateway.use_cases.live_updates import (
    Followable,
    FollowUpdates,
    followable_full_test,
    followable_validation,
)
from assay_gateway.use_cases.records import AskRecords

LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", description="The id of the last event that was seen."),
]


def progress_event_routes(*, ask: AskRecords, follow: FollowUpdates) -> APIRouter:
    router = APIRouter()

    @router.get(
        "/skills/{skill_id}/events",
        tags=["skills"],
        response_class=EventStream,
        status_code=200,
        responses=_documented("the validation status", "validation", "SKILL_NOT_FOUND"),
    )
    async def follow_validation(skill_id: UUID, last_event_id: LastEventId = None) -> Response:
        """Follow the skill's newest validation live."""
        status = await ask(GetStatus(skill_id=skill_id))
        return _stream(follow, followable_validation(status), status, last_event_id)

    @router.get(
        "/full-tests/{full_test_id}/events",
        tags=["full tests"],
        response_class=EventStream,
        status_code=200,
        responses=_documented("the full test", "full test", "FULL_TEST_NOT_FOUND"),
    )
    async def follow_full_test(full_test_id: UUID, last_event_id: LastEventId = None) -> Response:
        """Follow a full test live."""
        view = await ask(GetFullTest(full_test_id=full_test_id))
        return _stream(follow, followable_full_test(view), view, last_event_id)

    return router


def _documented(state: str, followed: str, not_found: ProblemCode) -> Responses:
    return {
        200: {
            "description": f"`status` events, each with {state} as JSON, until the {followed} has "
            "ended. The id is a digest of the state: with it as `Last-Event-ID` a state that was "
            "seen already is not sent again.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
        204: {"description": f"The {followed} has ended, and `Last-Event-ID` tells its end."},
        **responses(not_found),
    }


def _stream(
    follow: FollowUpdates, followable: Followable[R], known: R, last_seen: str | None
) -> Response:
    if followable.ended(known) and _state_id(known) == last_seen:
        # What the standard has for "do not come back".
        return Response(status_code=HTTPStatus.NO_CONTENT)
    updates = follow(followable, known)
    return EventStream(_status_events(updates, last_seen))


async def _status_events(
    updates: AsyncIterator[R | Problem], last_seen: str | None
) -> AsyncIterator[ServerSentEvent]:
    async for update in updates:
        if not isinstance(update, Problem):
            event_id = _state_id(update)
            if event_id != last_seen:
                last_seen = event_id
                yield ServerSentEvent(update.model_dump_json(), event="status", id=event_id)
        elif update.code == "SERVICE_UNAVAILABLE":
            yield ServerSentEvent(comment=update.message)
        else:
            yield ServerSentEvent(update.model_dump_json(), event="problem")


def _state_id(state: Model) -> str:
    return sha256(state.model_dump_json().encode()).hexdigest()[:16]
