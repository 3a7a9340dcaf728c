"""The shapes of error bodies, by the API that an address belongs to: each speaks as its own clients expect.

Addresses without a shape are pages, whose errors are pages, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.http import JsonResponse


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """Holds what every API says about an error, whatever the names of its fields."""

    status: int
    kind: str  # our own name of the error
    message: str
    retryable: bool = False


Body = dict[str, Any]  # Any: JSON
Envelope = Callable[[ErrorSummary], Body]

# Status → type and code of OpenAI's errors. Any other status is an invalid request below 500, and a server error from there on.
_OPENAI_TYPES: Final[Mapping[int, tuple[str, str | None]]] = {
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("permission_error", "permission_denied"),
    404: ("invalid_request_error", "not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    503: ("server_error", "service_unavailable"),
}


def build_own_body(error: ErrorSummary) -> Body:
    body = {"type": error.kind, "message": error.message, "retryable": error.retryable}
    return {"error": body}


def build_openai_body(
    error: ErrorSummary, *, param: str | None = None, code: str | None = None
) -> Body:
    """Return the error as OpenAI's clients read it. ``param`` is the parameter of the request that is at fault."""
    is_server_error = error.status >= 500
    fallback = (
        ("server_error", "server_error") if is_server_error else ("invalid_request_error", None)
    )
    type_, usual_code = _OPENAI_TYPES.get(error.status, fallback)
    body = {"message": error.message, "type": type_, "param": param, "code": code or usual_code}
    return {"error": body}


# Status → code of Dify's errors. Any other status is a bad request below 500, and an error of the server from there on.
_DIFY_CODES: Final[Mapping[int, str]] = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "file_too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
    503: "service_unavailable",
}


def build_dify_body(error: ErrorSummary, *, code: str = "", params: str = "") -> Body:
    """Return the error as Dify's clients read it. ``params`` is the field of the request that is at fault."""
    fallback = "internal_server_error" if error.status >= 500 else "bad_request"
    body: Body = {
        "code": code or _DIFY_CODES.get(error.status, fallback),
        "message": error.message,
        "status": error.status,
    }
    return body | ({"params": params} if params else {})


# The beginning of an address → the shape of errors there.
ENVELOPES: Final[Mapping[str, Envelope]] = {
    "/api/": build_own_body,
    "/hooks/": build_own_body,
    "/mcp/": build_own_body,
    "/openai/": build_openai_body,
    "/v1/": build_dify_body,
    "/v1/models": build_openai_body,
    "/v1/chat/completions": build_openai_body,
}


def find_envelope(path: str) -> Envelope | None:
    """Return the shape of errors at this address, or None for a page. The longest beginning of the address counts."""
    prefixes = [prefix for prefix in ENVELOPES if path.startswith(prefix)]
    return ENVELOPES[max(prefixes, key=len)] if prefixes else None


def is_api(path: str) -> bool:
    """Return whether the address belongs to an API, where bodies and errors are JSON."""
    return find_envelope(path) is not None


def build_error_response(path: str, error: ErrorSummary) -> JsonResponse:
    """Return the error in the shape of the API that the address belongs to."""
    build_body = find_envelope(path) or build_own_body
    return JsonResponse(build_body(error), status=error.status)
