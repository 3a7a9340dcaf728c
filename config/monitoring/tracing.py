"""OpenTelemetry traces of requests, runs, steps and model calls.

They need the extra ``otel`` and OTEL_ENDPOINT. Without one of them, nothing is recorded, and a span costs a dictionary
look-up. A span contains ids, kinds and durations only: no inputs, outputs, prompts or names.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import structlog
from django.conf import settings


log = structlog.get_logger(__name__)

NANOSECONDS: Final = 1_000_000_000
SERVICE: Final = "mnemoflow"


@contextmanager
def open_span(name: str, **attributes: str) -> Iterator[None]:
    """Record what happens inside as a span, below the current one."""
    tracer = get_tracer()
    if tracer is None:
        yield
        return
    with tracer.start_as_current_span(name, attributes=_prefix(attributes)):
        yield


def record_span(name: str, started_at: float, seconds: float, **attributes: str) -> None:
    """Record what has ended as a span below the current one. ``started_at`` is in Unix seconds."""
    tracer = get_tracer()
    if tracer is None:
        return
    start = int(started_at * NANOSECONDS)
    span = tracer.start_span(name, attributes=_prefix(attributes), start_time=start)
    span.end(end_time=start + int(seconds * NANOSECONDS))


@cache
def get_tracer() -> Any:  # Any: the package is optional
    """Return the tracer of this process, or None if traces are off."""
    if not settings.OTEL_ENDPOINT:
        return None
    try:
        # Inline imports: the packages are optional.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        log.error("tracing.not_installed", why=str(error), hint="pip install 'mnemoflow[otel]'")
        return None
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    exporter = OTLPSpanExporter(endpoint=f"{settings.OTEL_ENDPOINT.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer(SERVICE)


def _prefix(attributes: dict[str, str]) -> dict[str, str]:
    return {f"{SERVICE}.{name}": value for name, value in attributes.items()}
