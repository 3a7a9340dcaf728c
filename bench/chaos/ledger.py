"""The outside world of the runs: a server for model calls and HTTP requests that notes every call."""

import json
import re
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


CHUNKS = 8  # pieces of each streamed answer
CHUNK_SECONDS = 0.03  # between two pieces
EFFECT_SECONDS = 0.1  # until an HTTP request is answered


@dataclass(frozen=True)
class Call:
    """One call: the node and the number of the run that made it, its idempotency key, and its arrival in epoch seconds."""

    node: str
    number: int
    key: str
    at: float


class Server(ThreadingHTTPServer):
    request_queue_size = (
        1_000  # a busy machine accepts late, and a refused connection would count as a failed run
    )


class Ledger:
    """Serve model calls and HTTP requests on a loopback port for the duration of a ``with`` block."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        handler = type("Handler", (_Handler,), {"ledger": self})
        self._server = Server(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def note(self, node: str, number: int, key: str) -> None:
        self.calls.append(Call(node, number, key, time.time()))

    def group_calls(self) -> dict[tuple[str, int], list[Call]]:
        """Group the calls by node and run; a group with several calls is a repeated effect."""
        groups: dict[tuple[str, int], list[Call]] = defaultdict(list)
        for call in list(self.calls):
            groups[call.node, call.number].append(call)
        return groups

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    ledger: Ledger

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if match := re.search(r"(\w+) of run (\d+)", body):
            key = self.headers.get("Idempotency-Key", "")
            self.ledger.note(match[1], int(match[2]), key)
        if self.path.endswith("/chat/completions"):
            self._stream_answer(f"answer {match[0] if match else ''}")
        else:
            time.sleep(EFFECT_SECONDS)
            self._send(b'{"done": true}', "application/json")

    def _stream_answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for number in range(CHUNKS):
                delta = {"content": text if number == 0 else f" {number}"}
                self._send_frame({"delta": delta, "finish_reason": None})
                time.sleep(CHUNK_SECONDS)
            self._send_frame({"delta": {}, "finish_reason": "stop"})
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass  # the worker was killed
        self.close_connection = True

    def _send_frame(self, choice: dict[str, object]) -> None:
        frame = {
            "id": "c", "object": "chat.completion.chunk", "created": 0, "model": "small",
            "choices": [{"index": 0, **choice}],
        }  # fmt: skip
        self.wfile.write(f"data: {json.dumps(frame)}\n\n".encode())
        self.wfile.flush()

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)
