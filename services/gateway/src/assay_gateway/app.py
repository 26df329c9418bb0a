"""Wires the gateway; no I/O happens until it is served."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.types import Scope
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware as ProxyHeaders

from assay_contracts.rpc import PingIngest, PingRecords
from assay_contracts.validations import ValidationProgressed
from assay_gateway import openapi, problems
from assay_gateway.adapters.facts import PublicFacts
from assay_gateway.adapters.jwks import PublishedKeys
from assay_gateway.adapters.objects import StoredObjects, StoredUploads
from assay_gateway.adapters.progress import LiveProgress
from assay_gateway.adapters.tokens import (
    MachineToken,
    SharedSecret,
    SignedTokens,
    TokenRules,
)
from assay_gateway.auth import Authenticate
from assay_gateway.bodies import SmallBodies
from assay_gateway.downloads import Download
from assay_gateway.following import Follow
from assay_gateway.guard import Guard
from assay_gateway.handlers import admin_routes
from assay_gateway.limits import RateLimit
from assay_gateway.middleware import Edge, OtherSites, SecurityHeaders
from assay_gateway.ports import Tokens
from assay_gateway.routes.page import page_routes
from assay_gateway.service import Read, SubmitUpload
from assay_gateway.settings import Settings
from assay_gateway.sharing import SharedReads
from assay_gateway.telling import TellFacts
from assay_servicekit.background import background
from assay_servicekit.bus import Bus
from assay_servicekit.service import Service


def _outside_the_api(scope: Scope) -> bool:
    return not scope.get("path", "").startswith("/api")


def _operation_id(route: APIRoute) -> str:
    return route.name


PING_TIMEOUT_S = 1.0
TELEMETRY = TelemetryConfig(
    tracing=True, metrics=False, logs=False, operation_spans=False, exclude=_outside_the_api
)


def create_app(settings: Settings) -> Service:
    bus = Bus(settings, "gateway")
    progress = LiveProgress()
    bus.on_live(ValidationProgressed, progress.heard)

    app = FastAPI(
        title="Assay",
        summary="Decides whether an agent skill may be handed to agents.",
        version=version("assay-gateway"),
        openapi_url="/api/openapi.json",
        # Their pages load scripts from elsewhere, and this runs without internet.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        telemetry=TELEMETRY,
    )
    problems.install(app)
    openapi.install(app)
    keys = _published_keys(settings)
    # The last one added is the first to see a request.
    app.add_middleware(SmallBodies)
    app.add_middleware(
        Guard,
        authenticate=Authenticate(
            _tokens(settings, keys), RateLimit(settings.auth_failures_per_minute)
        ),
    )
    app.add_middleware(Edge)
    if settings.cors_origins:
        app.add_middleware(OtherSites, origins=settings.cors_origins)
    app.add_middleware(SecurityHeaders)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeaders, trusted_hosts=list(settings.trusted_proxies))
    look = SharedReads(bus.ask_json)
    facts = PublicFacts(bus.public_facts)
    app.include_router(
        admin_routes(
            submit=SubmitUpload(ask=bus.ask, uploads=StoredUploads(bus.objects)),
            read=Read(ask=bus.ask),
            look=look,
            follow=Follow(ask=look.ask, progress=progress),
            tell=TellFacts(facts=facts),
            download=Download(ask=bus.ask, objects=StoredObjects(bus.objects)),
            uploads=RateLimit(settings.uploads_per_minute),
        )
    )
    app.router.routes.extend(page_routes())

    @asynccontextmanager
    async def before() -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if keys:
                await stack.enter_async_context(keys)
            await stack.enter_async_context(background(facts=facts.run()))
            yield

    return Service(
        bus=bus,
        settings=settings,
        app=app,
        before=before,
        checks={"keys of tokens": keys.check} if keys else {},
        others={
            "scorer": lambda: bus.ask(PingRecords(), timeout_s=PING_TIMEOUT_S),
            "ingest": lambda: bus.ask(PingIngest(), timeout_s=PING_TIMEOUT_S),
        },
    )


def _published_keys(settings: Settings) -> PublishedKeys | None:
    return PublishedKeys(settings.jwks_url, settings.jwt_algorithms) if settings.jwks_url else None


def _tokens(settings: Settings, published: PublishedKeys | None) -> tuple[Tokens, ...]:
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
