"""A server that gives the replies of a test case in order, and then the last one again and again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workflows.engine.errors import HttpFailed
from workflows.engine.language.document import Json
from workflows.engine.ports import HttpRequest, HttpResponse


@dataclass
class FakeServer:
    """Implements ``ports.HttpPort``.

    A reply is {status, headers, body | body_repeat: [characters, count]} or {network_error}.
    """

    replies: Sequence[Mapping[str, Json]]
    requests: list[HttpRequest] = field(default_factory=list)

    async def send(self, request: HttpRequest) -> HttpResponse:
        if not self.replies:
            raise HttpFailed("The fake server has no response")
        reply = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(request)
        if reply.get("network_error"):
            raise HttpFailed(str(reply["network_error"]))
        headers = {
            str(name).lower(): str(value) for name, value in (reply.get("headers") or {}).items()
        }
        return HttpResponse(
            int(reply.get("status") or 200),
            headers,
            _build_body(reply),
            request.url,
            describe_request(request),
        )


def describe_request(request: HttpRequest) -> dict[str, Json]:
    """Return a request as a test case describes it, before a client adds anything of its own."""
    form = None if request.form is None else dict(request.form)
    content = request.content
    return {
        "method": request.method,
        "url": request.url,
        "headers": dict(request.headers),
        "params": [list(pair) for pair in request.params] if request.params else None,
        "json": request.json_value if request.has_json else None,
        "data": form,
        "content": None if content is None else content.decode("utf-8", "replace"),
        "files": [[file.field, file.name, file.mime_type] for file in request.files] or None,
    }


def _build_body(reply: Mapping[str, Json]) -> bytes:
    repeat = reply.get("body_repeat")
    if repeat:
        return str(repeat[0]).encode() * min(int(repeat[1]), 64 * 1024 * 1024)
    body = reply.get("body")
    return b"" if body is None else str(body).encode()
