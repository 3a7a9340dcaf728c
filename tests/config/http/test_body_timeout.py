"""Half-sent bodies, against a real server, by a clock that the test moves."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from config.http.body_timeout import BYTES_PER_SECOND, BodyTimeout
from tests.support.own_server import MovableClock, run_server
from tests.support.waiting import until


SECONDS = 1_000.0  # nobody waits for so long: the clock is moved


@dataclass
class CountingApp:
    """Reads bodies, as Django does, and answers with their size."""

    begun: int = 0  # requests
    received: int = 0  # bytes of all requests

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        size, more = 0, True
        self.begun += 1
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size += len(message["body"])
            self.received += len(message["body"])
            more = message.get("more_body", False)
        head = [(b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": str(size).encode()})


@dataclass
class Site:
    port: int
    clock: MovableClock
    app: CountingApp

    @contextmanager
    def begin(self, length: int) -> Iterator[socket.socket]:
        """Send the head of a request, and wait until the server waits for its body."""
        begun = self.app.begun
        with socket.create_connection(("127.0.0.1", self.port), timeout=90) as line:
            line.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length)
            until(lambda: self.app.begun > begun)
            yield line

    def send(self, line: socket.socket, part: bytes) -> None:
        """Send a part of a body, and wait until it has arrived, which it does only in time."""
        received = self.app.received
        line.sendall(part)
        until(lambda: self.app.received == received + len(part))


@pytest.fixture
def site() -> Iterator[Site]:
    app = CountingApp()
    application: Any = BodyTimeout(app, SECONDS)
    with run_server(application) as (url, clock):
        yield Site(urlsplit(url).port or 0, clock, app)


def read_all(line: socket.socket) -> bytes:
    """Return the answer once the server has closed the connection."""
    parts = []
    while part := line.recv(4096):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("pieces", [[b"half"], [b"x"] * 9], ids=["half", "dripping"])
def test_half_sent_body_ends_the_connection_in_time(site: Site, pieces: list[bytes]):
    with site.begin(1_000) as line:
        for piece in pieces:
            site.clock.let_pass(SECONDS * 0.9 / len(pieces))
            site.send(line, piece)  # it arrives: the time isn't over
        site.clock.let_pass(SECONDS * 0.1 + 1)
        answer = read_all(line)

    assert answer.startswith(b"HTTP/1.1 408")


def test_two_hundred_half_sent_bodies_are_all_gone_and_others_are_served(site: Site):
    lines = []
    for _ in range(200):
        line = socket.create_connection(("127.0.0.1", site.port), timeout=90)
        line.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx")
        lines.append(line)
    until(lambda: site.app.received == 200)
    with site.begin(2) as honest:
        honest.sendall(b"ab")
        assert honest.recv(100).startswith(b"HTTP/1.1 200")

    site.clock.let_pass(SECONDS + 1)
    answers = [read_all(line) for line in lines]
    for line in lines:
        line.close()

    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 408"}


def test_slow_but_steady_upload_is_finished(site: Site):
    """It takes longer than the time for a small body, and is faster than the lowest speed."""
    pieces, size = 12, 200 * BYTES_PER_SECOND
    with site.begin(pieces * size) as line:
        for _ in range(pieces):
            site.clock.let_pass(150)
            site.send(line, b"x" * size)
        answer = line.recv(4096)

    assert answer.startswith(b"HTTP/1.1 200")
    assert pieces * 150 > SECONDS


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
    form = (b"content-type", b"multipart/form-data; boundary=x")
    scope = {"type": "http", "path": "/", "headers": [length, form]}
    await BodyTimeout(CountingApp(), 30)(scope, receive, send)

    assert sent[0]["status"] == 413
    assert received == (0 if is_announced else 3 * 1024**2)


@pytest.mark.parametrize("is_announced", [True, False])
@pytest.mark.parametrize("path", ["/workflows/new/", "/api/v1/workflows", "/openai/v1/chat"])
async def test_body_without_files_has_the_limit_of_requests(
    is_announced: bool, path: str, settings: Any
):
    """A form or JSON of 20 MB, although a file may have as much."""
    sent: list[dict[str, Any]] = []
    limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * limit, "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    size = str(2 * limit).encode()
    length = (b"content-length", size) if is_announced else (b"transfer-encoding", b"chunked")
    scope = {"type": "http", "path": path, "headers": [length]}
    await BodyTimeout(CountingApp(), 30)(scope, receive, send)

    assert sent[0]["status"] == 413
