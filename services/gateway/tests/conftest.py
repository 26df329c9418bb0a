from collections.abc import AsyncIterator

import httpx
import pytest_asyncio

from assay_testkit.gateway.running import ADMIN_TOKEN, running_gateway
from assay_testkit.gateway.services import Ingest, Records
from assay_testkit.servers import RunningNats


@pytest_asyncio.fixture(loop_scope="module")
async def records(nats_server: RunningNats) -> AsyncIterator[Records]:
    async with Records(nats_server.url("scorer")) as records:
        yield records


@pytest_asyncio.fixture(loop_scope="module")
async def ingest(nats_server: RunningNats) -> AsyncIterator[Ingest]:
    async with Ingest(nats_server.url("ingest")) as ingest:
        yield ingest


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(nats_server: RunningNats) -> AsyncIterator[str]:
    """The address of a gateway, which keeps no state that one test could leave to another.

    The services it asks run only if the test wants them.
    """
    async with running_gateway(nats_server.url("gateway")) as url:
        yield url


@pytest_asyncio.fixture(loop_scope="module")
async def client(gateway: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    async with httpx.AsyncClient(base_url=gateway, headers=headers, timeout=20) as client:
        yield client
