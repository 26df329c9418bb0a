"""One trace from the HTTP request to the last message; exported only when an endpoint is set."""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context, propagate, trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

TRACEPARENT = "traceparent"


def configure_telemetry(service: str, otlp_endpoint: str | None) -> TracerProvider:
    """Install this process's tracer provider and return it; call `shutdown()` on it at the end."""
    provider = TracerProvider(
        resource=Resource({SERVICE_NAME: f"assay-{service}"}),
        # Logs need the ids of a trace; its spans cost time that nobody would see the use of.
        sampler=ALWAYS_ON if otlp_endpoint else ALWAYS_OFF,
    )
    if otlp_endpoint:
        exporter = OTLPSpanExporter(endpoint=f"{otlp_endpoint.rstrip('/')}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    # The default carries baggage too, which nobody here packs and every hop would search for.
    propagate.set_global_textmap(TraceContextTextMapPropagator())
    return provider


def current_traceparent() -> str | None:
    """The trace under way as a W3C header value, to be kept with what is said later."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get(TRACEPARENT)


@contextmanager
def resumed(traceparent: str | None) -> Iterator[None]:
    """Go on with a trace that was kept, or with none."""
    kept = propagate.extract({TRACEPARENT: traceparent} if traceparent else {}, Context())
    token = context.attach(kept)
    try:
        yield
    finally:
        context.detach(token)
