"""JSON lines on standard error, each with the trace and the validation it belongs to."""

import logging
import sys
from collections.abc import MutableMapping

import structlog
from opentelemetry import trace

NOISY = ("faststream", "nats", "httpx", "uvicorn.access", "opentelemetry")


def _add_trace(
    _logger: object, _method: str, event: MutableMapping[str, object]
) -> MutableMapping[str, object]:
    span = trace.get_current_span().get_span_context()
    if span.is_valid:
        event["trace_id"] = f"{span.trace_id:032x}"
    return event


def configure_logs(service: str, level: str) -> None:
    """Send every log record of this process, ours and the libraries', out as one JSON line."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_trace,
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name in NOISY:
        logging.getLogger(name).setLevel("WARNING")
    structlog.contextvars.bind_contextvars(service=service)
