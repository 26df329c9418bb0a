"""Wires the gateway; no I/O happens until it is served."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Final

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.types import Scope
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware as ProxyHeaders

from assay_contracts.rpc import PingIngest, PingRecords
from assay_contracts.validations import ValidationProgressed
from assay_gateway.adapters.http import problems
from assay_gateway.adapters.http.admin_gate import AdminGate
from assay_gateway.adapters.http.body_limit import BodyLimit
from assay_gateway.adapters.http.middleware import CrossOrigin, ErrorBoundary, SecurityHeaders
from assay_gateway.adapters.http.openapi import TrueDocument
from assay_gateway.adapters.http.routes.page import page_routes
from assay_gateway.adapters.jwks import PublishedKeys
from assay_gateway.adapters.live_progress import LiveProgress
from assay_gateway.adapters.object_store import StoredObjects, StoredUploads
from assay_gateway.adapters.public_event_feed import PublicEventFeed
from assay_gateway.adapters.tokens import (
    MachineToken,
    SharedSecret,
    SignedTokens,
    TokenRules,
)
from assay_gateway.domain.rate_limit import RateLimit
from assay_gateway.handlers import admin_routes
from assay_gateway.ports import TokenKind
from assay_gateway.settings import Settings
from assay_gateway.use_cases.authentication import Authenticate
from assay_servicekit.background import background
from assay_servicekit.bus import Bus
from assay_servicekit.service import Service
from assay_servicekit.slow_clients import ClientLimits

PING_TIMEOUT_S: Final = 1.0


def create_app(settings: Settings) -> Service:
    bus = Bus(settings, "gateway")
    progress = LiveProgress()
    bus.on_live(ValidationProgressed, progress.heard)
    keys = _published_keys(settings)
    public_events = PublicEventFeed(bus.public_facts)

    app = _api()
    _add_middleware(app, settings, keys)
    app.include_router(
        admin_routes(
            ask=bus.ask,
            ask_json=bus.ask_json,
            uploads=StoredUploads(bus.objects),
            objects=StoredObjects(bus.objects),
            progress=progress,
            public_events=public_events,
            upload_limit=RateLimit(settings.uploads_per_minute),
        )
    )
    app.router.routes.extend(page_routes())

    @asynccontextmanager
    async def before() -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if keys:
                await stack.enter_async_context(keys)
            await stack.enter_async_context(background(public_events=public_events.run()))
            yield

    return Service(
        bus=bus,
        settings=settings,
        app=app,
        before=before,
        client_limits=ClientLimits(
            per_address=settings.connections_per_address,
            trusted=settings.trusted_proxies,
        ),
        checks={"keys of tokens": keys.check} if keys else {},
        others={
            "scorer": lambda: bus.ask(PingRecords(), timeout_s=PING_TIMEOUT_S),
            "ingest": lambda: bus.ask(PingIngest(), timeout_s=PING_TIMEOUT_S),
        },
    )


def _api() -> FastAPI:
    app = TrueDocument(
        title="Assay",
        summary="Decides whether an agent skill may be handed to agents.",
        version=version("assay-gateway"),
        openapi_url="/api/openapi.json",
        # Their pages load scripts from elsewhere, and this runs without internet.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        telemetry=TelemetryConfig(
            tracing=True,
            metrics=False,
            logs=False,
            operation_spans=False,
            exclude=_outside_the_api,
        ),
    )
    problems.install(app)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name


def _outside_the_api(scope: Scope) -> bool:
    return not scope.get("path", "").startswith("/api")


def _add_middleware(app: FastAPI, settings: Settings, keys: PublishedKeys | None) -> None:
    """What every request passes through; the last one added is the first to see it."""
    authenticate = Authenticate(
        tokens=_token_kinds(settings, keys), failures=RateLimit(settings.auth_failures_per_minute)
    )
    app.add_middleware(BodyLimit)
    app.add_middleware(AdminGate, authenticate=authenticate)
    app.add_middleware(ErrorBoundary)
    if settings.cors_origins:
        app.add_middleware(CrossOrigin, origins=settings.cors_origins)
    app.add_middleware(SecurityHeaders)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeaders, trusted_hosts=list(settings.trusted_proxies))


def _published_keys(settings: Settings) -> PublishedKeys | None:
    return PublishedKeys(settings.jwks_url, settings.jwt_algorithms) if settings.jwks_url else None


def _token_kinds(settings: Settings, published: PublishedKeys | None) -> tuple[TokenKind, ...]:
    """Each kind of token that is taken, the cheapest to check first."""
    machine = (MachineToken(settings.admin_token),) if settings.admin_token else ()
    keys = published or (SharedSecret(settings.jwt_secret) if settings.jwt_secret else None)
    if keys is None:
        return machine
    rules = TokenRules(
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        admin_claim=settings.jwt_admin_claim,
        admin_value=settings.jwt_admin_value,
    )
    return (*machine, SignedTokens(keys, rules))
