"""The gateway on a real port."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from assay_gateway.app import create_app
from assay_gateway.settings import Settings
from assay_servicekit.service import Service, asgi, server_config
from assay_testkit.waiting import until

ADMIN_TOKEN = "a token for tests"


def settings_for_tests(nats_url: str, **changed: object) -> Settings:
    """With `ADMIN_TOKEN`, and room for whole files of tests that fail and upload on purpose."""
    return Settings.model_validate(
        {
            "nats_url": nats_url,
            "admin_token": ADMIN_TOKEN,
            "auth_failures_per_minute": 1_000_000,
            "uploads_per_minute": 1_000_000,
            **changed,
        }
    )


@asynccontextmanager
async def running_gateway(nats_url: str, **changed: object) -> AsyncIterator[str]:
    """Serve the gateway on a free port; yields its address."""
    async with served(create_app(settings_for_tests(nats_url, **changed))) as url:
        yield url


@asynccontextmanager
async def served(service: Service) -> AsyncIterator[str]:
    """Serve it on a free port; yields its address."""
    server = uvicorn.Server(server_config(asgi(service), "127.0.0.1", 0, service.client_limits))
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started or serving.done(), why="the gateway listens", every_s=0.005)
    try:
        host, port = server.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        await serving
