"""A plain HTTP server on loopback: writes down what it gets, answers what it is told to.

with FakeHttp() as server:
    server.answers(Reply(200, b"hi", {"content-type": "text/plain"}))
    ... server.base_url ...
    assert server.requests[0].headers["x-key"] == "v"
"""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


GATE_LIMIT = 90.0  # seconds; says only that a test has hung


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b"hi"
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/plain"})
    delay: float = 0.0
    gate: threading.Event | None = None  # the answer waits until this is set
    drip: float = 0.0  # seconds before each byte


class FakeHttp:
    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.is_closed = threading.Event()
        self._replies: list[Reply] = [Reply()]
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.is_closed.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def base_url(self) -> str:
        return f"http://{self.address}"

    def answers(self, *replies: Reply) -> None:
        """In order; the last one repeats."""
        self.requests.clear()
        self._replies = list(replies)

    def next_reply(self) -> Reply:
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


def _handler(fake: FakeHttp) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(length)
            fake.requests.append(Request(self.command, self.path, headers, body))
            reply = fake.next_reply()
            fake.is_closed.wait(reply.delay)
            if reply.gate is not None:
                reply.gate.wait(GATE_LIMIT)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            if self.command != "HEAD":
                self._write(reply)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer  # noqa: N815

        def _write(self, reply: Reply) -> None:
            try:
                if not reply.drip:
                    self.wfile.write(reply.body)
                    return
                for byte in reply.body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    fake.is_closed.wait(reply.drip)
            except OSError:
                self.close_connection = True

        def log_message(self, *_arguments: object) -> None:
            """Silence."""

    return Handler
