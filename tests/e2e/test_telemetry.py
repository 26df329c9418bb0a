"""One trace from the HTTP request through every hop to the completion."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from tests.e2e.conftest import Admin

from assay_cli.embedded.stack import Stack

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(180)]
SERVICES = {"gateway", "ingest", "scorer", "judge", "sandbox-runner"}
HOPS = {
    "ingest.submit",
    "records.register",
    "validation.requested",
    "validation.planned",
    "run.requested",
    "run.finished",
    "grading.requested",
    "run.graded",
    "report.requested",
    "report.written",
    "validation.completed",
}


class Collector:
    """Takes in what the services export, as any OTLP collector would."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, bytes, str]] = []
        self.server = make_server("127.0.0.1", 0, self._take, handler_class=Quiet)
        Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def _take(self, environ: dict[str, object], start: Callable[..., object]) -> list[bytes]:
        length = int(str(environ["CONTENT_LENGTH"]))
        body: bytes = environ["wsgi.input"].read(length)  # type: ignore[attr-defined]
        if environ.get("HTTP_CONTENT_ENCODING") == "gzip":
            import gzip

            body = gzip.decompress(body)
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            name = next(
                attribute.value.string_value
                for attribute in resource.resource.attributes
                if attribute.key == "service.name"
            )
            for scope in resource.scope_spans:
                self.spans += [(name, span.trace_id, span.name) for span in scope.spans]
        start("200 OK", [("Content-Type", "application/x-protobuf")])
        return [b""]


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


async def test_one_trace_joins_every_service_and_every_hop(
    make_slow_skill: Callable[[str, float], bytes],
    open_admin: "Callable[[Stack], AbstractAsyncContextManager[Admin]]",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collector = Collector()
    monkeypatch.setitem(os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setitem(os.environ, "OTEL_BSP_SCHEDULE_DELAY", "200")
    with tempfile.TemporaryDirectory(prefix="assay-e2e-") as data:
        async with Stack(Path(data)) as stack, open_admin(stack) as admin:
            skill_id = await admin.submit(make_slow_skill("traced", 0.0))
            await admin.ended(skill_id)
            await admin.completions(skill_id)
        uploads = [span for span in collector.spans if "upload" in span[2].lower()]
        assert uploads, {span[2] for span in collector.spans}
        trace = uploads[0][1]
        joined = [span for span in collector.spans if span[1] == trace]
        assert {service.removeprefix("assay-") for service, _, _ in joined} == SERVICES
        names = " ".join(name for _, _, name in joined)
        assert {hop for hop in HOPS if hop not in names} == set()
    with suppress(OSError):
        await asyncio.to_thread(collector.server.shutdown)
