"""Runs one service: telemetry, logs, bus, health, and an orderly end."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

import structlog
import uvicorn
from nats.errors import Error as NatsError
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay_contracts.rpc import ProblemError
from assay_servicekit.bus import Bus, TopologyMissing, Unavailable
from assay_servicekit.logs import configure_logs
from assay_servicekit.settings import ServiceSettings
from assay_servicekit.telemetry import configure_telemetry

CHECK_TIMEOUT_S = 2.0
LONGEST_TICK_S = 10.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What `serve` needs to know about a service."""

    bus: Bus
    settings: ServiceSettings
    app: Starlette | None = None
    """The HTTP interface, for the service that has one beside health."""
    before: Callable[[], AbstractAsyncContextManager[object]] = nullcontext
    """Entered once the bus is connected and before it is listened to."""
    checks: dict[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    """What must answer, beside the bus, for the service to be ready."""
    others: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)
    """What readiness tells of beside that; without them the service does what it still can."""


class _Pulse:
    """Notices an event loop that no longer turns."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def beat(self) -> None:
        while True:
            self._last = time.monotonic()
            await asyncio.sleep(1)

    def alive(self) -> bool:
        return time.monotonic() - self._last < LONGEST_TICK_S


def health_routes(service: Service, pulse: _Pulse) -> list[Route]:
    async def livez(_: Request) -> Response:
        return JSONResponse({"alive": pulse.alive()}, 200 if pulse.alive() else 503)

    async def readyz(_: Request) -> Response:
        needed = {"bus": service.bus.check, **service.checks}
        checks = {**needed, **service.others}
        found = await asyncio.gather(*(_fault(check) for check in checks.values()))
        missing = {name: fault for name, fault in zip(checks, found, strict=True) if fault}
        ready = missing.keys().isdisjoint(needed)
        return JSONResponse({"ready": ready, "missing": missing}, 200 if ready else 503)

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    return [Route("/livez", livez), Route("/readyz", readyz), Route("/metrics", metrics)]


async def _fault(check: Callable[[], Awaitable[object]]) -> str | None:
    """Why the check does not pass; None if it does."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            await check()
    except ProblemError as error:
        return error.problem.message
    except (NatsError, TimeoutError, OSError, TopologyMissing, Unavailable) as error:
        return f"{type(error).__name__}: {error}"
    return None


def asgi(service: Service) -> Starlette:
    """The service as an ASGI application whose lifespan is the service's life."""
    pulse = _Pulse()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        telemetry = configure_telemetry(service.bus.service, service.settings.otlp_endpoint)
        heart = asyncio.create_task(pulse.beat())
        try:
            await service.bus.connect()
            async with service.before():
                await service.bus.start()
                # What is there from now on stays: no collection need look through it again.
                gc.collect()
                gc.freeze()
                log.info("service_started", port=service.settings.http_port)
                yield
                await service.bus.stop()
        finally:
            heart.cancel()
            telemetry.shutdown()
            log.info("service_stopped")

    app = service.app or Starlette()
    app.router.routes[:0] = health_routes(service, pulse)
    app.router.lifespan_context = lifespan
    return app


def serve(service: Service) -> None:
    """Run until SIGTERM or SIGINT."""
    settings = service.settings
    configure_logs(service.bus.service, settings.log_level)
    uvicorn.run(
        asgi(service),
        host=settings.http_host,
        port=settings.http_port,
        log_config=None,
        access_log=False,
        server_header=False,
        # Believing them is for the application that is told which proxies to trust.
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
