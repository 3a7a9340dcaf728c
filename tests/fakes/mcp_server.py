"""A small MCP server on loopback that speaks JSON-RPC over HTTP, and misbehaves as a test tells it.

It knows no revision after 2025-06-18; ``tests.fakes.mcp_servers`` has servers of each, written with the official package.

with FakeMcp(tools=[{"name": "add", ...}]) as server:
    server.answers["tools/call"] = lambda message: {"content": [{"type": "text", "text": "3"}]}
    ... server.url ...
    assert server.messages[1]["method"] == "initialize"
"""

import json
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


Message = dict[str, Any]
ADD: Message = {
    "name": "add",
    "description": "Adds two numbers.",
    "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
}


@dataclass
class Raw:
    """A whole HTTP answer instead of a result. An endless body is an endless iterator of pieces."""

    body: bytes | Iterable[bytes] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})


class FakeMcp:
    def __init__(self, tools: list[Message] | None = None) -> None:
        self.messages: list[Message] = []
        self.headers: list[dict[str, str]] = []
        self.methods: list[str] = []
        self.answers: dict[str, Callable[[Message], Any]] = {
            "initialize": lambda _message: {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1"},
            },
            "tools/list": lambda _message: {"tools": [ADD] if tools is None else tools},
            "tools/call": _add,
        }
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/mcp"

    def answer(self, message: Message) -> Raw:
        answer = self.answers.get(message.get("method", ""))
        if answer is None:  # as a server of an earlier revision answers ``server/discover``
            error = {"code": -32601, "message": "Method not found"}
            return Raw(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode())
        result = answer(message)
        if isinstance(result, Raw):
            return result
        response = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return Raw(json.dumps(response).encode())

    def speak_new(self) -> None:
        """Answer as servers of the revision 2026-07-28 do, which know no sessions."""
        kept = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        list_tools, call_tool = self.answers["tools/list"], self.answers["tools/call"]
        del self.answers["initialize"]
        self.answers["tools/list"] = lambda message: {**list_tools(message), **kept}
        self.answers["tools/call"] = lambda message: {
            **call_tool(message),
            "resultType": "complete",
        }
        self.answers["server/discover"] = lambda _message: {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            **kept,
        }

    def calls(self) -> list[Message]:
        return [message for message in self.messages if message.get("method") == "tools/call"]


def sse(*messages: Message, session: str = "") -> Raw:
    """The messages as one event stream, which then ends."""
    lines = "".join(f"event: message\ndata: {json.dumps(message)}\n\n" for message in messages)
    return Raw(lines.encode(), headers={"content-type": "text/event-stream"})


def _add(message: Message) -> Message:
    arguments = message["params"]["arguments"]
    total = arguments["a"] + arguments["b"]
    return {
        "content": [{"type": "text", "text": str(total)}],
        "structuredContent": {"sum": total},
    }


def _handler(fake: FakeMcp) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            message = json.loads(body)
            fake.messages.append(message)
            fake.methods.append("POST")
            fake.headers.append({name.lower(): value for name, value in self.headers.items()})
            if "id" not in message:
                self.reply(Raw(status=202))
                return
            self.reply(fake.answer(message))

        def do_GET(self) -> None:
            fake.methods.append("GET")
            self.reply(Raw(status=405))

        def do_DELETE(self) -> None:
            fake.methods.append("DELETE")
            self.reply(Raw(status=200))

        def reply(self, raw: Raw) -> None:
            self.close_connection = True
            self.send_response(raw.status)
            length = {"content-length": str(len(raw.body))} if isinstance(raw.body, bytes) else {}
            for name, value in (length | raw.headers | {"connection": "close"}).items():
                self.send_header(name, value)
            self.end_headers()
            pieces = [raw.body] if isinstance(raw.body, bytes) else raw.body
            with suppress(OSError):  # the client has had enough
                for piece in pieces:
                    self.wfile.write(piece)

        def log_message(self, *args: object) -> None:
            pass

    return Handler
