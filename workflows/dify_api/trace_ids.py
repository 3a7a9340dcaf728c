"""The id by which a caller's own tracing knows a request, so that the run that the request starts can be found by it.

It comes as the header ``X-Trace-Id``, as ``trace_id`` of the query or of the body, or as W3C's ``traceparent``; the first one
that is there counts. An id that isn't valid is left out, and refuses nothing, as with Dify.
"""

import re
from typing import Final

from django.http import HttpRequest

from workflows.engine.language.document import Json


HEADER: Final = "X-Trace-Id"
FIELD: Final = "trace_id"
TRACEPARENT: Final = "traceparent"

_VALID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
# Version, trace, parent and flags; a trace of zeros alone is none.
_PARENT: Final = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")


def read_trace_id(request: HttpRequest, of_body: Json = None) -> str:
    """Return the caller's trace id, or an empty text."""
    trace_id = request.headers.get(HEADER) or request.GET.get(FIELD) or of_body
    if trace_id:
        return trace_id if isinstance(trace_id, str) and _VALID.fullmatch(trace_id) else ""
    parent = _PARENT.fullmatch(request.headers.get(TRACEPARENT, ""))
    return parent[1] if parent else ""
