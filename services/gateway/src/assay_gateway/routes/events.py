"""Live progress as server-sent events."""

from collections.abc import AsyncIterator
from uuid import UUID

from fastapi import APIRouter
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from assay_contracts.rpc import GetStatus, Problem, SkillStatusView
from assay_gateway.problems import responses
from assay_gateway.service import FollowStatus, Read

KEEP_ALIVE_S = 10


class EventStream(EventSourceResponse):
    """Ends when the client leaves or the server stops."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super().__call__(scope, receive, send)
        if self.active:
            # The server stops: the client is to see an end, not a broken connection.
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def event_routes(*, read: Read, follow: FollowStatus) -> APIRouter:
    router = APIRouter(prefix="/skills", tags=["skills"])

    @router.get(
        "/{skill_id}/events",
        response_class=EventStream,
        responses={
            200: {
                "description": "`status` events, each with the validation status as JSON, "
                "until the validation has ended.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            **responses("SKILL_NOT_FOUND"),
        },
    )
    async def follow_validation(skill_id: UUID) -> EventStream:
        """Follow the skill's newest validation live."""
        first = await read(GetStatus(skill_id=skill_id))
        return EventStream(
            _events(follow(first)), sep="\n", ping=KEEP_ALIVE_S, ping_message_factory=_keep_alive
        )

    return router


async def _events(
    updates: AsyncIterator[SkillStatusView | Problem],
) -> AsyncIterator[ServerSentEvent]:
    count = 0
    async for update in updates:
        match update:
            case SkillStatusView():
                count += 1
                yield ServerSentEvent(update.model_dump_json(), event="status", id=str(count))
            case Problem(code="SERVICE_UNAVAILABLE"):
                yield ServerSentEvent(comment=update.message)
            case Problem():
                yield ServerSentEvent(update.model_dump_json(), event="problem")


def _keep_alive() -> ServerSentEvent:
    return ServerSentEvent(comment="still here")
