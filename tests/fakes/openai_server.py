"""A model provider made of a script: a real HTTP server on loopback that speaks the OpenAI protocol.

    with FakeOpenAI() as server:
        server.script("Hello Ana.")            # answers, in order; the last one repeats
        server.script(Failure(429, retry_after=3))
        ... base_url=server.base_url ...
        assert server.requests[0].body["model"] == "gpt-4"

Its frames are checked against the openai package's own types by `tests/workflows/llm`, and
`bench/real_model.py` drives the same provider against a server none of us wrote.
"""

import base64
import json
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    connection: int = 0  # the client's port

    @property
    def last_message(self) -> str:
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Call:
    """A tool call that the fake writes: its arguments in pieces, after a first piece with the name."""

    name: str
    arguments: str = "{}"
    id: str = "call-a"


@dataclass(frozen=True)
class Answer:
    text: str = ""
    reasoning: str = ""
    finish_reason: str | None = "stop"
    usage: tuple[int, int] | None = (11, 7)
    delay: float = 0.0  # before each frame
    gate: threading.Event | None = None  # after its first word, the answer waits until this is set
    cut_after: int | None = None  # frames, then the connection breaks
    pieces: Sequence[str] | None = None
    raw: bytes | None = None  # sent instead of frames
    calls: Sequence[Call] = ()
    deltas: Sequence[Any] | None = None  # sent instead of what the other fields say
    request_id: str = ""  # of the header in which providers name a request

    @property
    def reason(self) -> str | None:
        return "tool_calls" if self.calls and self.finish_reason == "stop" else self.finish_reason

    def split(self) -> list[str]:
        return list(self.pieces) if self.pieces is not None else self.text.split(" ")


@dataclass(frozen=True)
class Failure:
    status: int
    message: str = "upstream says: the canary sings"
    code: str | None = None
    retry_after: float | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True)
class Vectors:
    """An answer of /embeddings: by the texts, as numbers or in base64; ``raw`` is sent instead."""

    of: Callable[[str], Sequence[float]]
    base64: bool | None = None  # none: as it was asked for
    backwards: bool = False  # the index says which is whose
    missing: int = 0  # of the last ones
    delay: float = 0.0
    raw: bytes | None = None


@dataclass(frozen=True)
class Scores:
    """An answer of /rerank: by the documents, in the shape of Jina, Cohere and vLLM, or as the bare list of TEI."""

    of: Callable[[str], float]
    as_tei: bool = False
    usage: dict[str, int] | None = None
    raw: bytes | None = None


FRAMES_BEFORE_GATE = 2  # the role and the first word
GATE_LIMIT = 90.0  # seconds; says only that a test has hung

Reply = Answer | Failure | Vectors | Scores
Scripted = Reply | str | Callable[[Request], "Reply | str"]


class FakeOpenAI:
    def __init__(self, models: Sequence[str] = ("gpt-4", "tiny"), *, port: int = 0) -> None:
        self.models = tuple(models)
        self.api_key: str | None = None  # when set, anything else gets 401
        self.knows_stream_options = True
        self.knows_tools = True
        self.formats: tuple[str, ...] = ("text", "json_object", "json_schema")  # of answers
        self.requests: list[Request] = []
        self.is_closed = threading.Event()
        self._script: list[Scripted] = []
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def allow(self) -> str:
        """The NET_ALLOW entry that opens this server."""
        return f"127.0.0.1:{self.port}"

    def script(self, *replies: Scripted) -> None:
        with self._lock:
            self._script.extend(replies)

    def reset(self) -> None:
        with self._lock:
            self._script.clear()
            self.requests.clear()

    def reply_to(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            scripted: Scripted = self._script[0] if self._script else "Hello from the fake."
            if len(self._script) > 1:
                self._script.pop(0)
        reply = scripted(request) if callable(scripted) else scripted
        return Answer(reply) if isinstance(reply, str) else reply

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    fake: FakeOpenAI
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        request = self._request(None)
        if self._turned_away(request):
            return None
        if request.path == "/v1/models":
            reply = self.fake.reply_to(request) if self.fake._script else None
            if isinstance(reply, Failure):
                return self._fail(reply)
            self.fake.requests.append(request) if reply is None else None
            models = [_model(name) for name in self.fake.models]
            return self._json(200, {"object": "list", "data": models})
        return self._fail(Failure(404))

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        request = self._request(json.loads(self.rfile.read(length)))
        if self._turned_away(request):
            return None
        if request.path not in {*_FRAMES, EMBEDDINGS, RERANK}:
            return self._fail(Failure(404))
        if "stream_options" in request.body and not self.fake.knows_stream_options:
            return self._fail(Failure(400, "Unrecognized argument: stream_options"))
        if refusal := self._refuse(request):
            self.fake.requests.append(request)
            return self._fail(refusal)
        reply = self.fake.reply_to(request)
        if isinstance(reply, Failure):
            return self._fail(reply)
        if isinstance(reply, Vectors):
            self.fake.is_closed.wait(reply.delay)
            if reply.raw is not None:
                return self._send(200, reply.raw, "application/json", {})
            return self._json(200, _embedded(request, reply))
        if isinstance(reply, Scores):
            return self._answer_scores(request, reply)
        if request.body.get("stream"):
            return self._stream(request, reply)
        return self._json(200, _whole(request, reply))

    def _answer_scores(self, request: Request, reply: Scores) -> None:
        if reply.raw is not None:
            return self._send(200, reply.raw, "application/json", {})
        name = "texts" if reply.as_tei else "documents"
        if name not in request.body:
            return self._fail(
                Failure(422, f"Failed to parse the request body: missing field `{name}`")
            )
        return self._json(200, _scored(request, reply))

    def handle(self) -> None:
        with suppress(ConnectionError):  # the reader went away, which is its right
            super().handle()

    def log_message(self, *_: object) -> None:
        pass

    def _request(self, body: Any) -> Request:
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.command, self.path, headers, body, self.client_address[1])

    def _turned_away(self, request: Request) -> bool:
        expected = self.fake.api_key
        if expected is None or request.headers.get("authorization") == f"Bearer {expected}":
            return False
        self.fake.requests.append(request)
        self._fail(Failure(401, f"Incorrect API key: {request.headers.get('authorization')}"))
        return True

    def _refuse(self, request: Request) -> Failure | None:
        """Return the refusal of something that this server doesn't know."""
        if "tools" in request.body and not self.fake.knows_tools:
            return Failure(400, f"{request.body['model']} does not support tools")
        kind = (request.body.get("response_format") or {}).get("type", "text")
        if kind not in self.fake.formats:
            return Failure(400, f"'response_format.type' must be one of {self.fake.formats}")
        return None

    def _fail(self, failure: Failure) -> None:
        error = {"message": failure.message, "type": "error", "param": None, "code": failure.code}
        headers = dict(failure.headers)
        if failure.retry_after is not None:
            headers["Retry-After"] = f"{failure.retry_after:g}"
        body = failure.body if failure.body is not None else json.dumps({"error": error}).encode()
        self._send(failure.status, body, "application/json", headers)

    def _json(self, status: int, value: Any) -> None:
        self._send(status, json.dumps(value).encode(), "application/json", {})

    def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, request: Request, answer: Answer) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        if answer.request_id:
            self.send_header("x-request-id", answer.request_id)
        self.end_headers()
        try:
            if answer.raw is not None:
                self._chunk(answer.raw)
            else:
                self._frames(request, answer)
            self._chunk(b"")
        except _Cut:
            self.close_connection = True

    def _frames(self, request: Request, answer: Answer) -> None:
        for count, frame in enumerate(_FRAMES[request.path](request, answer)):
            if answer.cut_after == count:
                raise _Cut
            if answer.gate is not None and count == FRAMES_BEFORE_GATE:
                answer.gate.wait(GATE_LIMIT)
            self.fake.is_closed.wait(answer.delay)
            self._chunk(b"data: " + json.dumps(frame).encode() + b"\n\n")
        self._chunk(b"data: [DONE]\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


class _Cut(Exception):
    pass


def chat_frames(request: Request, answer: Answer) -> list[dict[str, Any]]:
    if answer.deltas is not None:
        frames = [_chat_frame(request, delta) for delta in answer.deltas]
        frames.append(_chat_frame(request, {}, answer.reason))
        return [*frames, *_usage_frame(request, answer, "chat.completion.chunk")]
    frames = [_chat_frame(request, {"role": "assistant", "content": None})]
    if answer.reasoning:
        frames.append(_chat_frame(request, {"reasoning_content": answer.reasoning}))
    pieces = answer.split()
    for i, piece in enumerate(pieces if answer.text or answer.pieces else ()):
        space = " " if answer.pieces is None and i < len(pieces) - 1 else ""
        frames.append(_chat_frame(request, {"content": piece + space}))
    for index, call in enumerate(answer.calls):
        frames += [_chat_frame(request, {"tool_calls": [p]}) for p in call_pieces(index, call)]
    if answer.reason:
        frames.append(_chat_frame(request, {}, answer.reason))
    return [*frames, *_usage_frame(request, answer, "chat.completion.chunk")]


def call_pieces(index: int, call: Call) -> list[dict[str, Any]]:
    """The pieces in which OpenAI and llama.cpp stream a tool call."""
    function = {"name": call.name, "arguments": ""}
    first = {"index": index, "id": call.id, "type": "function", "function": function}
    texts = [call.arguments[start : start + 7] for start in range(0, len(call.arguments), 7)]
    return [first, *({"index": index, "function": {"arguments": text}} for text in texts)]


def completion_frames(request: Request, answer: Answer) -> list[dict[str, Any]]:
    frames = [
        _frame(request, "text_completion", [{"index": 0, "text": piece + " ", "finish_reason": None,
                                             "logprobs": None}])
        for piece in answer.split()
    ]  # fmt: skip
    last = {"index": 0, "text": "", "finish_reason": answer.finish_reason, "logprobs": None}
    frames.append(_frame(request, "text_completion", [last]))
    return [*frames, *_usage_frame(request, answer, "text_completion")]


EMBEDDINGS = "/v1/embeddings"
RERANK = "/v1/rerank"


def _scored(request: Request, reply: Scores) -> Any:
    """Score the documents, the best first, and of those as many as were asked for."""
    documents = request.body["texts" if reply.as_tei else "documents"]
    order = sorted(range(len(documents)), key=lambda index: -reply.of(documents[index]))
    if reply.as_tei:
        return [{"index": index, "score": reply.of(documents[index])} for index in order]
    results = [
        {
            "index": index,
            "relevance_score": reply.of(documents[index]),
            "document": {"text": documents[index]},
        }
        for index in order[: request.body.get("top_n")]
    ]
    usage = {"usage": reply.usage} if reply.usage else {}
    return {"id": "fake-1", "model": request.body["model"], "results": results, **usage}


def _embedded(request: Request, reply: Vectors) -> dict[str, Any]:
    given = request.body["input"]
    texts = [given] if isinstance(given, str) else given
    packed = (
        request.body.get("encoding_format") == "base64" if reply.base64 is None else reply.base64
    )
    data = [
        {"object": "embedding", "index": n, "embedding": _packed(reply.of(text), packed)}
        for n, text in enumerate(texts)
    ]
    kept = data[: len(data) - reply.missing]
    count = sum(len(text.split()) for text in texts)
    return {
        "object": "list",
        "data": kept[::-1] if reply.backwards else kept,
        "model": request.body["model"],
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }


def _packed(numbers: Sequence[float], packed: bool) -> Any:
    if not packed:
        return list(numbers)
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


_FRAMES = {"/v1/chat/completions": chat_frames, "/v1/completions": completion_frames}


def _usage_frame(request: Request, answer: Answer, kind: str) -> list[dict[str, Any]]:
    wanted = (request.body.get("stream_options") or {}).get("include_usage")
    if not wanted or answer.usage is None:
        return []
    return [{**_frame(request, kind, []), "usage": _usage(answer.usage)}]


def _chat_frame(
    request: Request, delta: dict[str, Any], finish_reason: str | None = None
) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _frame(request, "chat.completion.chunk", [choice])


def _frame(request: Request, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "fake-1", "object": kind, "created": 1, "model": request.body["model"],
            "choices": choices}  # fmt: skip


def _whole(request: Request, answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    if answer.calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in answer.calls
        ]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": answer.reason,
    }
    usage = _usage(answer.usage or (0, 0))
    return {**_frame(request, "chat.completion", [choice]), "usage": usage}


def _usage(counts: tuple[int, int]) -> dict[str, int]:
    prompt, completion = counts
    return {"prompt_tokens": prompt, "completion_tokens": completion,
            "total_tokens": prompt + completion}  # fmt: skip


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1, "owned_by": "fake"}
