"""Gives the caller's trace on with the requests of a run, as Dify does: W3C's ``traceparent``, if the request has none."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.ports import HttpPort, HttpRequest, HttpResponse


TRACEPARENT: Final = "traceparent"
_TRACE: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_VERSION, _SAMPLED = "00", "01"
_SPAN_BYTES: Final = 8


def give_trace_on(http: HttpPort, row: Mapping[str, Json]) -> HttpPort:
    """Return the port for a run of this row. A trace id of another form than W3C's isn't given on."""
    trace_id = str(row.get("trace_id") or "")
    return TracedHttp(http, trace_id) if _TRACE.fullmatch(trace_id) else http


@dataclass(frozen=True, slots=True)
class TracedHttp:
    """Implements ``engine.ports.HttpPort``. Each request is a span of its own below the caller's trace."""

    http: HttpPort
    trace_id: str

    async def send(self, request: HttpRequest) -> HttpResponse:
        if any(name.lower() == TRACEPARENT for name, _value in request.headers):
            return await self.http.send(request)
        span = secrets.token_hex(_SPAN_BYTES)
        header = (TRACEPARENT, f"{_VERSION}-{self.trace_id}-{span}-{_SAMPLED}")
        return await self.http.send(replace(request, headers=(*request.headers, header)))
