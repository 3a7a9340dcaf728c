"""A fake server for test cases: it returns their responses in order, and then repeats the last response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from workflows.engine.errors import HttpFailed
from workflows.engine.language.document import Json
from workflows.engine.ports import HttpRequest, HttpResponse


MAX_BODY_BYTES: Final = 64 * 1024 * 1024  # of a repeated body


@dataclass
class FakeServer:
    """Implements ``ports.HttpPort``.

    Each response is {status, headers, body | body_repeat: [characters, count]} or {network_error}.
    """

    responses: Sequence[Mapping[str, Json]]
    requests: list[HttpRequest] = field(default_factory=list)

    async def send(self, request: HttpRequest) -> HttpResponse:
        if not self.responses:
            raise HttpFailed("The fake server has no response")
        response = self.responses[min(len(self.requests), len(self.responses) - 1)]
        self.requests.append(request)
        if response.get("network_error"):
            raise HttpFailed(str(response["network_error"]))
        headers = {
            str(name).lower(): str(value) for name, value in (response.get("headers") or {}).items()
        }
        return HttpResponse(
            int(response.get("status") or 200),
            headers,
            _build_body(response),
            request.url,
            describe_request(request),
        )


def describe_request(request: HttpRequest) -> dict[str, Json]:
    """Return a request in the form of the expected requests of test cases."""
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


def _build_body(response: Mapping[str, Json]) -> bytes:
    repeat = response.get("body_repeat")
    if repeat:
        return str(repeat[0]).encode() * min(int(repeat[1]), MAX_BODY_BYTES)
    body = response.get("body")
    return b"" if body is None else str(body).encode()
