"""Runs one service: telemetry, logs, bus, health, and an orderly end."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
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
from assay_servicekit.loop_watch import LoopWatch
from assay_servicekit.settings import ServiceSettings
from assay_servicekit.slow_clients import ClientLimits, bounded
from assay_servicekit.telemetry import configure_telemetry

CHECK_TIMEOUT_S = 2.0

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
    client_limits: ClientLimits = field(default_factory=ClientLimits)
    """What one HTTP client may take."""
    others: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)
    """What readiness tells of beside that; without them the service does what it still can."""


def health_routes(service: Service, watch: LoopWatch) -> list[Route]:
    async def livez(_: Request) -> Response:
        return JSONResponse({"alive": watch.alive()}, 200 if watch.alive() else 503)

    async def readyz(_: Request) -> Response:
        needed = {"event loop": watch.check, "bus": service.bus.check, **service.checks}
        checks = {**needed, **service.others}
        found = await asyncio.gather(*(_fault(check) for check in checks.values()))
        missing = {name: fault for name, fault in zip(checks, found, strict=True) if fault}
        ready = missing.keys().isdisjoint(needed)
        return JSONResponse({"ready": ready, "missing": missing}, 200 if ready else 503)

    return [Route("/livez", livez), Route("/readyz", readyz)]


def metrics_app() -> Starlette:
    """Apart from what users reach: metrics ask for no token, and tell what they are not to know."""

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    return Starlette(routes=[Route("/metrics", metrics)])


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
    watch = LoopWatch()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        telemetry = configure_telemetry(service.bus.service, service.settings.otlp_endpoint)
        try:
            await service.bus.connect()
            async with watch.watching(), service.before():
                await service.bus.start()
                # What is there from now on stays: no collection need look through it again.
                gc.collect()
                gc.freeze()
                log.info("service_started", port=service.settings.http_port)
                yield
                await service.bus.stop()
        finally:
            telemetry.shutdown()
            log.info("service_stopped")

    app = service.app or Starlette()
    app.router.routes[:0] = health_routes(service, watch)
    app.router.lifespan_context = lifespan
    return app


def serve(service: Service) -> None:
    """Run until SIGTERM or SIGINT."""
    settings = service.settings
    configure_logs(service.bus.service, settings.log_level)
    asyncio.run(_serve(service))


async def _serve(service: Service) -> None:
    settings = service.settings
    metrics = _Beside(server_config(metrics_app(), settings.metrics_host, settings.metrics_port))
    main = uvicorn.Server(
        server_config(asgi(service), settings.http_host, settings.http_port, service.client_limits)
    )
    serving_metrics = asyncio.create_task(metrics.serve())
    try:
        await main.serve()
    finally:
        metrics.should_exit = True
        await serving_metrics


class _Beside(uvicorn.Server):
    """A server that leaves signals to the one it stands beside."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def server_config(
    app: Starlette, host: str, port: int, limits: ClientLimits | None = None
) -> uvicorn.Config:
    """How every server of ours is run."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=bounded(limits or ClientLimits()),
        log_config=None,
        access_log=False,
        server_header=False,
        # Believing them is for the application that is told which proxies to trust.
        proxy_headers=False,
        timeout_graceful_shutdown=2,
    )
