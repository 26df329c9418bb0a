"""Wires the gateway; no I/O happens until it is served."""

from importlib.metadata import version

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.types import Scope

from assay_contracts.validations import ValidationProgressed
from assay_gateway import problems
from assay_gateway.adapters.objects import StoredReports, StoredUploads
from assay_gateway.adapters.progress import LiveProgress
from assay_gateway.auth import Authenticate
from assay_gateway.handlers import admin_routes
from assay_gateway.middleware import Edge
from assay_gateway.service import FetchReport, FollowStatus, Read, SubmitUpload
from assay_gateway.settings import Settings
from assay_servicekit.bus import Bus
from assay_servicekit.service import Service


def _outside_the_api(scope: Scope) -> bool:
    return not scope.get("path", "").startswith("/api")


def _operation_id(route: APIRoute) -> str:
    return route.name


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
    app.add_middleware(Edge)
    app.include_router(
        admin_routes(
            authenticate=Authenticate(settings.admin_token),
            submit=SubmitUpload(ask=bus.ask, uploads=StoredUploads(bus.objects)),
            read=Read(ask=bus.ask),
            follow=FollowStatus(ask=bus.ask, progress=progress),
            fetch_report=FetchReport(ask=bus.ask, reports=StoredReports(bus.objects)),
        )
    )
    return Service(bus=bus, settings=settings, app=app)
