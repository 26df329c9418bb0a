"""Live progress as server-sent events.

Every event carries a whole state, and its id is a digest of that state: whoever comes back with
the id of the last event it saw is shown what has changed since, or nothing if nothing has.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from assay_contracts.base import Model
from assay_contracts.full_tests import GetFullTest
from assay_contracts.rpc import GetStatus, Problem, ProblemCode, ProblemError
from assay_gateway.auth import CALLER
from assay_gateway.domain import Fact
from assay_gateway.following import Follow, Followed, full_test, validation_of
from assay_gateway.ports import R
from assay_gateway.problems import responses
from assay_gateway.service import Read
from assay_gateway.telling import TellFacts

KEEP_ALIVE_S = 10
LONGEST_S = 24 * 3600
"""Nobody follows for longer without coming back."""

FactType = Literal[
    "skill.uploaded",
    "validation.completed",
    "skill.approved",
    "skill.rejected",
    "skill.deleted",
    "runtime.promoted",
    "runtime.rolled-back",
    "full-test.completed",
]

LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", description="The id of the last event that was seen."),
]


class EventStream(EventSourceResponse):
    """Ends when the client leaves, its token expires, or the server stops."""

    def __init__(self, events: AsyncIterator[ServerSentEvent]) -> None:
        super().__init__(events, sep="\n", ping=KEEP_ALIVE_S, ping_message_factory=_keep_alive)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(_time_left_s(scope)) as time_left:
                await super().__call__(scope, receive, send)
        except TimeoutError:
            if not time_left.expired():
                raise
        if self.active:
            # It is us who end it: the client is to see an end, not a broken connection.
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _time_left_s(scope: Scope) -> float | None:
    """How long whoever follows may do so; a new token goes on from the last event it saw."""
    expires_at = scope[CALLER].expires_at
    return None if expires_at is None else min(expires_at, time.time() + LONGEST_S) - time.time()


def event_routes(*, read: Read, follow: Follow, tell: TellFacts) -> APIRouter:
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
        first = await read(GetStatus(skill_id=skill_id))
        return _stream(follow, validation_of(first), first, last_event_id)

    @router.get(
        "/full-tests/{full_test_id}/events",
        tags=["full tests"],
        response_class=EventStream,
        status_code=200,
        responses=_documented("the full test", "full test", "FULL_TEST_NOT_FOUND"),
    )
    async def follow_full_test(full_test_id: UUID, last_event_id: LastEventId = None) -> Response:
        """Follow a full test live."""
        first = await read(GetFullTest(full_test_id=full_test_id))
        return _stream(follow, full_test(first), first, last_event_id)

    @router.get(
        "/events",
        tags=["events"],
        response_class=EventStream,
        status_code=200,
        responses={
            200: {
                "description": "Public facts as they are said, each an event of the type it is "
                "named by on the bus. The id is the fact's place among all facts: with it as "
                "`Last-Event-ID` everything said since is told first, up to 30 days back. It "
                "never ends by itself, but for a client that reads too slowly.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            }
        },
    )
    async def follow_facts(
        types: Annotated[
            list[FactType], Query(description="Only facts of these types.", max_length=20)
        ] = [],  # noqa: B006  # FastAPI copies it
        last_event_id: Annotated[
            int | None,
            Header(
                alias="Last-Event-ID",
                ge=0,
                le=2**53,
                description="The id of the last event that was seen; 0 for all that are kept.",
            ),
        ] = None,
    ) -> Response:
        """Follow everything that other systems may know."""
        return EventStream(_facts(tell(frozenset(types), last_event_id)))

    return router


async def _facts(facts: AsyncIterator[Fact | None]) -> AsyncIterator[ServerSentEvent]:
    try:
        async for fact in facts:
            yield (
                ServerSentEvent(comment="listening")
                if fact is None
                else ServerSentEvent(fact.body, event=fact.type, id=str(fact.sequence))
            )
    except ProblemError as error:
        yield ServerSentEvent(comment=error.problem.message)


def _documented(state: str, followed: str, not_found: ProblemCode) -> dict[int | str, Any]:
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


def _stream(follow: Follow, followed: Followed[R], first: R, last_seen: str | None) -> Response:
    if followed.ended(first) and _state_id(first) == last_seen:
        # What the standard has for "do not come back".
        return Response(status_code=HTTPStatus.NO_CONTENT)
    updates = follow(followed, first)
    return EventStream(_events(updates, last_seen))


async def _events(
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


def _keep_alive() -> ServerSentEvent:
    return ServerSentEvent(comment="still here")
