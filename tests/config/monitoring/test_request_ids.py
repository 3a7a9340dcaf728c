"""One id leads from a response through the log to the run."""

import json
import logging
import logging.config
from io import StringIO
from typing import Any

import pytest
import structlog
from asgiref.testing import ApplicationCommunicator
from structlog.testing import capture_logs

from config.logs import build_logging_config, configure
from config.monitoring.request_ids import RequestIds, get_request_id


async def answer_with_id(_scope: object, _receive: object, send: Any) -> None:
    logging.getLogger("workflows.anything").warning("noticed", extra={"why": "a reason"})
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": get_request_id().encode()})


async def ask(*headers: tuple[bytes, bytes]) -> tuple[str, str]:
    """Return the id of the response's header, and the one that the view saw."""
    scope = {"type": "http", "method": "GET", "path": "/", "headers": list(headers)}
    communicator = ApplicationCommunicator(RequestIds(answer_with_id), scope)
    start = await communicator.receive_output(timeout=30)
    body = await communicator.receive_output(timeout=30)
    return dict(start["headers"])[b"x-request-id"].decode(), body["body"].decode()


@pytest.fixture
def log() -> Any:
    """What the configured handler writes as JSON, one object per line."""
    formatter = logging.config.DictConfigurator(build_logging_config("json", "INFO"))
    handler = logging.StreamHandler(StringIO())
    handler.setFormatter(formatter.configure_formatter(formatter.config["formatters"]["events"]))
    root = logging.getLogger()
    root.addHandler(handler)
    yield lambda: [json.loads(line) for line in handler.stream.getvalue().splitlines()]
    root.removeHandler(handler)


def test_logger_in_use_follows_when_logging_is_configured_again(settings: Any):
    used = structlog.get_logger("workflows.anything")
    used.debug("first use")
    configure(settings.LOGGING)  # as a worker does when it starts

    with capture_logs() as events:
        used.warning("noticed")

    assert [event["event"] for event in events] == ["noticed"]


async def test_id_of_the_proxy_is_used_in_answer_view_and_log(log: Any):
    in_header, in_view = await ask((b"x-request-id", b"proxy-0815-abc"))

    assert (in_header, in_view) == ("proxy-0815-abc", "proxy-0815-abc")
    (line,) = log()
    assert {name: line[name] for name in ("event", "request", "why", "logger")} == {
        "event": "noticed", "request": "proxy-0815-abc", "why": "a reason", "logger": "workflows.anything",
    }  # fmt: skip


@pytest.mark.parametrize(
    "given", [b"short", b"x" * 65, b"with space in", b"new\nline-here", b"\xff" * 12]
)
async def test_id_of_another_form_is_replaced(given: bytes):
    in_header, in_view = await ask((b"x-request-id", given))

    assert in_header == in_view
    assert len(in_header) == 32


async def test_requests_have_different_ids_and_none_stays():
    first, second = await ask(), await ask()

    assert first != second
    assert get_request_id() == ""
