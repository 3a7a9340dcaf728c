"""Half-sent bodies, against a real server."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from config.http.body_timeout import BodyTimeout


SECONDS = 0.5


async def count_bytes(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Read the body, as Django does, and answer with its size."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        more = message.get("more_body", False)
    head = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": str(size).encode()})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    application: Any = BodyTimeout(count_bytes, SECONDS)
    config = uvicorn.Config(application, port=0, lifespan="off", ws="none", log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    address = server.servers[0].sockets[0].getsockname()
    yield address[1]
    server.should_exit = True
    thread.join(10)


@contextmanager
def begin(port: int, length: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length)
        yield line


def read_all(line: socket.socket) -> bytes:
    parts = []
    while part := line.recv(4096):
        parts.append(part)
    return b"".join(parts)


def drip(line: socket.socket, seconds: float) -> None:
    """Send a byte now and then, until the server ends the connection."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        line.sendall(b"x")
        time.sleep(0.05)


@pytest.mark.parametrize("send", [lambda line: line.sendall(b"half"), lambda line: drip(line, 0.4)])
def test_half_sent_body_ends_the_connection_in_time(
    port: int, send: Callable[[socket.socket], None]
):
    began = time.monotonic()
    with begin(port, 1_000) as line:
        send(line)
        answer = read_all(line)  # returns when the server has closed the connection

    assert answer.startswith(b"HTTP/1.1 408")
    assert (
        SECONDS * 0.9 < time.monotonic() - began < SECONDS + 15
    )  # without a limit it waits for ever


def test_two_hundred_half_sent_bodies_are_all_gone_and_others_are_served(port: int):
    lines = []
    for _ in range(200):
        line = socket.create_connection(("127.0.0.1", port), timeout=30)
        line.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx")
        lines.append(line)
    with begin(port, 2) as honest:
        honest.sendall(b"ab")
        assert honest.recv(100).startswith(b"HTTP/1.1 200")

    answers = [read_all(line) for line in lines]
    for line in lines:
        line.close()

    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 408"}


def test_slow_but_steady_upload_is_finished(port: int):
    """It takes longer than the time for a small body, and is faster than the lowest speed."""
    pieces, size = 12, 2_000
    with begin(port, pieces * size) as line:
        for _ in range(pieces):
            line.sendall(b"x" * size)
            time.sleep(0.1)
        answer = line.recv(4096)

    assert answer.startswith(b"HTTP/1.1 200")
    assert pieces * 0.1 > SECONDS


@pytest.mark.parametrize("is_announced", [True, False])
async def test_body_larger_than_any_file_is_answered_413(is_announced: bool, settings: Any):
    settings.FILE_MEDIA_MB = settings.FILE_DOCUMENT_MB = settings.FILE_IMAGE_MB = 1
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    received = 0
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 1024**2
        return {"type": "http.request", "body": b"x" * 1024**2, "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    length = (b"content-length", b"3000000") if is_announced else (b"transfer-encoding", b"chunked")
    scope = {"type": "http", "path": "/", "headers": [length]}
    await BodyTimeout(count_bytes, 30)(scope, receive, send)

    assert sent[0]["status"] == 413
    assert received == (0 if is_announced else 3 * 1024**2)
