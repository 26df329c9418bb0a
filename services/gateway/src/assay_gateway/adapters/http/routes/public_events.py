"""Public events, as server-sent events."""

from collections.abc import AsyncIterator
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import GetPydanticSchema
from sse_starlette import ServerSentEvent

from assay_contracts.rpc import ProblemError
from assay_contracts.topology import PUBLIC_FACTS
from assay_gateway.adapters.http.server_sent_events import EventStream
from assay_gateway.domain.public_event import PublicEvent
from assay_gateway.use_cases.public_events import StreamPublicEvents

PUBLIC_EVENT_TYPES: Final = tuple(event.SUBJECT for event in PUBLIC_FACTS)
PublicEventType = Annotated[
    str, GetPydanticSchema(lambda _, schema_of: schema_of(Literal[PUBLIC_EVENT_TYPES]))
]
"""One of the public events that the contracts list."""


def public_event_routes(*, stream_events: StreamPublicEvents) -> APIRouter:
    router = APIRouter()

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
            list[PublicEventType], Query(description="Only facts of these types.", max_length=20)
        ] = [],  # noqa: B006  # FastAPI copies it, and a tuple would change what a refusal says
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
        return EventStream(_public_events(stream_events(frozenset(types), last_event_id)))

    return router


async def _public_events(
    events: AsyncIterator[PublicEvent | None],
) -> AsyncIterator[ServerSentEvent]:
    try:
        async for event in events:
            yield (
                ServerSentEvent(comment="listening")
                if event is None
                else ServerSentEvent(event.body, event=event.type, id=str(event.sequence))
            )
    except ProblemError as error:
        yield ServerSentEvent(comment=error.problem.message)
