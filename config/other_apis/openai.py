"""The OpenAI API: an API of its own beside ours, because its addresses, its errors and its clients are others.

Its routes are mounted at ``/openai/v1``, and under the two addresses of ``/v1`` that Dify's service API doesn't have.
"""

from collections.abc import Sequence
from typing import Any, Final

import structlog
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, Throttled, ValidationError

from accounts.errors import NotFound
from accounts.http.throttles import RequestsThrottle
from config.api import StrictParser
from config.errors import (
    SIGN_IN_REQUIRED,
    STATUS,
    TOO_MANY_REQUESTS,
    add_retry_after,
    build_body,
    find_status,
)
from config.http.body_timeout import ANSWERS
from config.http.envelopes import ErrorSummary, build_openai_body
from workflows.errors import KeyReused
from workflows.openai_api.errors import CompletionError, find_parameter
from workflows.openai_api.responses import build_error_body
from workflows.openai_api.routes import router


log = structlog.get_logger(__name__)

# What our own API answers with 422 is an invalid request here, except for an Idempotency-Key, which OpenAI doesn't describe.
_INVALID_VALUE: Final = 422
# Clients wait no longer than this for what Retry-After says, and try again at once.
_MAX_RETRY_SECONDS: Final = 60
_VIEW_PARAMETERS: Final = frozenset({"body"})

api = NinjaAPI(
    title="Mnemoflow: OpenAI API",
    version="1",
    description="Published workflows as models.",
    parser=StrictParser(),
    urls_namespace="openai",
    docs_url=None,
    openapi_url=None,
    throttle=RequestsThrottle(),
)
api.add_router("", router)


def build_aliases() -> list[URLPattern]:
    """Return the routes of this API that are there under ``/v1``, too."""
    aliases = ("models", "models/<path:model_id>", "chat/completions")
    views = {
        str(pattern.pattern): pattern.callback
        for pattern in api.urls[0]
        if isinstance(pattern, URLPattern) and pattern.callback is not None
    }
    return [path(alias, views[alias]) for alias in aliases]


def _answer(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> HttpResponse:
    summary = ErrorSummary(status, "", message)
    return JsonResponse(build_openai_body(summary, param=param, code=code), status=status)


# The errors below are Any, because ninja types them as "the error or its class"; a class is never passed.


def handle_completion_error(request: HttpRequest, error: Any) -> HttpResponse:
    response = JsonResponse(build_error_body(error), status=error.status)
    if error.status >= 500:
        response["X-Should-Retry"] = "false"  # read by OpenAI's clients
    return response


def handle_domain_error(request: HttpRequest, error: Any) -> HttpResponse:
    status = find_status(error) or 500
    if status >= 500:
        log.error(
            "openai_api.domain_error", error=type(error).__name__, path=request.path, exc_info=error
        )
    if status == _INVALID_VALUE and not isinstance(error, KeyReused):
        status = 400
    message = build_body(error)["error"]["message"]
    problems = getattr(error, "problems", ())
    if problems:
        message = "; ".join(str(problem.message) for problem in problems)
    response = _answer(status, message, param=find_parameter(error), code=_find_code(error))
    if (getattr(error, "retry_after", None) or 0) > _MAX_RETRY_SECONDS:
        response["X-Should-Retry"] = "false"
    return add_retry_after(response, error)


def _find_code(error: Exception) -> str | None:
    is_of_conversation = (
        isinstance(error, NotFound) and getattr(error, "field", None) == "conversation_id"
    )
    return "conversation_not_found" if is_of_conversation else None


def handle_not_signed_in(request: HttpRequest, error: Any) -> HttpResponse:
    response = _answer(401, str(SIGN_IN_REQUIRED))
    response["WWW-Authenticate"] = 'Bearer realm="api"'
    return response


def handle_validation_error(request: HttpRequest, error: Any) -> HttpResponse:
    """Respond to a body that doesn't match; OpenAI's errors name one parameter, so the first problem counts."""
    first = error.errors[0]
    param = _format_location(first["loc"])
    return _answer(400, f"{param}: {first['msg']}" if param else first["msg"], param=param or None)


def _format_location(location: Sequence[object]) -> str:
    """Return the location of an error as OpenAI's errors write it, such as ``messages[0].role``."""
    names = [name for name in location[1:] if name not in _VIEW_PARAMETERS]
    text = "".join(f"[{name}]" if isinstance(name, int) else f".{name}" for name in names)
    return text.lstrip(".")


def handle_http_error(request: HttpRequest, error: Any) -> HttpResponse:
    """Respond to a body that can't be parsed, whose reason Ninja wraps in an ``HttpError``."""
    message = str(error.__cause__ or error)
    return _answer(error.status_code, message)


def handle_large_body(request: HttpRequest, error: Any) -> HttpResponse:
    return _answer(413, ANSWERS[413])


def handle_throttled(request: HttpRequest, error: Any) -> HttpResponse:
    """Respond to a key that exceeds the limit of requests; Ninja adds ``Retry-After``."""
    return _answer(429, str(TOO_MANY_REQUESTS))


for error_class in STATUS:
    api.add_exception_handler(error_class, handle_domain_error)
api.add_exception_handler(CompletionError, handle_completion_error)
api.add_exception_handler(ValidationError, handle_validation_error)
api.add_exception_handler(AuthenticationError, handle_not_signed_in)
api.add_exception_handler(HttpError, handle_http_error)
api.add_exception_handler(RequestDataTooBig, handle_large_body)
api.add_exception_handler(Throttled, handle_throttled)
