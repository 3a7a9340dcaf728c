"""A server on loopback that sends exactly the pieces that a test gives it, so that it can break every rule of HTTP.

with HostileHttp(b"HTTP/1.1 200 OK\r\n\r\n", itertools.repeat(b"x")) as server:
    ... server.base_url ...
    assert server.sent < 5_000_000
"""

import socketserver
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Self


class HostileHttp:
    """Answers each connection with the pieces, ``pause`` seconds apart. ``sent`` counts the bytes that were taken."""

    def __init__(self, head: bytes, body: Iterable[bytes] = (), *, pause: float = 0.0) -> None:
        self.head, self.body, self.pause = head, body, pause
        self.sent = 0
        self._is_closed = threading.Event()
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _build_handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_closed.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def iter_pieces(self) -> Iterator[bytes]:
        yield self.head
        for piece in self.body:
            if self.pause and self._is_closed.wait(self.pause):
                return
            yield piece


def chunked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces in the chunked transfer encoding, and no end."""
    for piece in pieces:
        yield f"{len(piece):x}\r\n".encode() + piece + b"\r\n"


def _build_handler(hostile: HostileHttp) -> type[socketserver.BaseRequestHandler]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # the client has had enough
                self.request.recv(65536)
                for piece in hostile.iter_pieces():
                    self.request.sendall(piece)
                    hostile.sent += len(piece)

    return Handler
