"""A caller's trace goes on with the requests of its run."""

import re
from dataclasses import dataclass, field

import pytest

from workflows.engine.ports import HttpRequest, HttpResponse
from workflows.execution.ports.traced_http import give_trace_on


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OTHER = f"00-{TRACE[::-1]}-00f067aa0ba902b7-01"


@dataclass
class Http:
    """Answers each request, and keeps it."""

    requests: list[HttpRequest] = field(default_factory=list)

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        return HttpResponse(200, {}, b"", request.url)


async def test_each_request_is_a_span_of_its_own_below_the_trace() -> None:
    http = Http()
    port = give_trace_on(http, {"trace_id": TRACE})

    for _ in range(2):
        await port.send(HttpRequest("GET", "https://example.org/", headers=[("Accept", "*/*")]))

    parents = [dict(request.headers)["traceparent"] for request in http.requests]
    assert all(re.fullmatch(rf"00-{TRACE}-[0-9a-f]{{16}}-01", parent) for parent in parents)
    assert len(set(parents)) == 2
    assert [request.headers[0] for request in http.requests] == [("Accept", "*/*")] * 2


async def test_header_of_the_author_stays() -> None:
    http = Http()
    request = HttpRequest("GET", "https://example.org/", headers=[("Traceparent", OTHER)])

    await give_trace_on(http, {"trace_id": TRACE}).send(request)

    assert http.requests == [request]


@pytest.mark.parametrize("trace_id", ["", None, "of-the-caller", "0" * 32, TRACE.upper()])
def test_trace_of_another_form_is_not_given_on(trace_id: str | None) -> None:
    http = Http()

    assert give_trace_on(http, {"trace_id": trace_id}) is http
