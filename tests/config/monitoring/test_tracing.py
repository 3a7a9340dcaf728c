"""Traces reach a collector, and contain ids and kinds only. Skipped where the extra ``otel`` isn't installed."""

import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from structlog.testing import capture_logs

from config.monitoring import tracing
from tests.factories.workflows import make_workflow
from tests.fakes.serving import serving
from tests.support.cast import Cast
from workflows.execution.worker import Worker
from workflows.services.runs.runs import start_run


@pytest.fixture
def collector(settings: Any) -> Iterator[list[bytes]]:
    """A server that keeps the bodies that it is sent."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    settings.OTEL_ENDPOINT = f"http://127.0.0.1:{server.server_port}"
    tracing.get_tracer.cache_clear()
    with serving(server):
        yield bodies
        tracing.get_tracer.cache_clear()


@pytest.mark.django_db(transaction=True)
def test_run_and_its_steps_reach_the_collector_without_their_content(
    cast: Cast, settings: Any, valkey_url: str, collector: list[bytes]
):
    pytest.importorskip("opentelemetry.sdk", reason="the extra otel isn't installed")
    settings.REDIS_URL = valkey_url
    workflow = make_workflow(cast.alice, "A confidential name")
    run = start_run(cast.alice.principal, workflow=workflow, inputs={"text": "a secret input"})

    worker = Worker(capacity=1)
    try:
        worker.execute_run(run.pk)
    finally:
        worker.stop(0)
    tracing.get_tracer().span_processor.force_flush()

    sent = b"".join(collector)
    assert str(run.pk).encode() in sent
    assert sent.count(b"mnemoflow.kind") == 2  # start and end
    assert b"confidential" not in sent
    assert b"a secret input" not in sent


def test_endpoint_without_the_packages_is_named_and_keeps_nothing_from_working(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.OTEL_ENDPOINT = "http://127.0.0.1:1"
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    tracing.get_tracer.cache_clear()

    with capture_logs() as logs, tracing.open_span("anything"):
        inside = True

    assert inside
    assert [line["event"] for line in logs] == ["tracing.not_installed"]
    tracing.get_tracer.cache_clear()
