"""What an account at the stand-in has, how it is body of, and what may go wrong."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from assay_testkit.daytona.sandboxes import LocalMachine, MachineFiles

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(slots=True, kw_only=True)
class Faults:
    """How likely each thing is to go wrong, from 0 to 1."""

    create_fails: float = 0.0
    create_answer_lost: float = 0.0
    """The sandbox comes into being, and nobody hears of it."""
    create_late: float = 0.0
    """It comes into being a while after nobody heard of it."""
    create_rate_limited: float = 0.0
    create_over_quota: float = 0.0
    start_fails: float = 0.0
    exec_fails: float = 0.0
    """A proxy answers 502 before the command is started."""
    exec_answer_lost: float = 0.0
    """The command runs, and the proxy cuts the line."""
    delete_fails: float = 0.0
    delete_conflicts: float = 0.0
    block_ignored: float = 0.0
    snapshot_never_active: float = 0.0
    snapshot_fails: float = 0.0
    snapshot_answer_lost: float = 0.0


@dataclass(slots=True)
class HeldSandbox:
    """A sandbox that exists."""

    id: str
    name: str
    labels: dict[str, str]
    blocked: bool
    snapshot: str | None
    machine: LocalMachine
    params: dict[str, Any]
    state: str = "creating"
    created_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())


@dataclass(slots=True)
class KeptSnapshot:
    """A snapshot that exists."""

    id: str
    name: str
    files: MachineFiles
    source: str
    state: str = "snapshotting"
    created_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())


def snapshot_as_json(kept: KeptSnapshot) -> dict[str, Any]:
    return {
        "id": kept.id,
        "general": False,
        "name": kept.name,
        "state": kept.state,
        "size": 1,
        "entrypoint": None,
        "cpu": 1,
        "gpu": 0,
        "mem": 1,
        "disk": 3,
        "errorReason": "it failed" if kept.state == "error" else None,
        "createdAt": kept.created_at,
        "updatedAt": kept.created_at,
        "lastUsedAt": None,
        "sourceSandboxId": kept.source,
    }


class Problem(Exception):
    def __init__(self, status: int, message: str, headers: dict[str, str]) -> None:
        self.status = status
        self.message = message
        self.headers = headers


class AnswerLost(Exception):
    pass


def problem(status: int, message: str, headers: dict[str, str] | None = None) -> Problem:
    return Problem(status, message, headers or {})


def lost(request: web.Request) -> AnswerLost:
    if request.transport is not None:
        request.transport.close()
    return AnswerLost()


@web.middleware
async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Problem as problem:
        body = {
            "statusCode": problem.status,
            "message": problem.message,
            "source": "DAYTONA_API",
            "path": request.path,
        }
        return web.json_response(body, status=problem.status, headers=problem.headers)
    except AnswerLost:
        return web.Response(status=599)
