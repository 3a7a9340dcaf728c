"""Dify's service API under ``/v1``: its routes, and every error in its shape."""

from typing import Any

import structlog
from django.http import HttpRequest, JsonResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, Throttled, ValidationError

from accounts.http.throttles import RequestsThrottle
from config.api import StrictParser
from config.errors import STATUS, TOO_MANY_REQUESTS, add_retry_after, find_status
from config.http.envelopes import ErrorSummary, build_dify_body
from workflows.dify_api import router
from workflows.dify_api.errors import STATUS_CODES, USER_MISSING, DifyError, translate


NO_HEADER = "Authorization header must be provided and start with 'Bearer'"
INVALID_KEY = "Access token is invalid"

log = structlog.get_logger(__name__)

dify_api = NinjaAPI(
    title="Dify's service API",
    version="1",
    parser=StrictParser(),
    urls_namespace="dify",
    docs_url=None,
    openapi_url=None,
    throttle=RequestsThrottle(),
)
dify_api.add_router("", router)


def build_response(error: DifyError) -> JsonResponse:
    summary = ErrorSummary(error.status, error.code, str(error))
    body = build_dify_body(summary, code=error.code, params=error.params)
    response = JsonResponse(body, status=error.status)
    if error.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="api"'
    return response


# The errors below are Any, because ninja types them as "the error or its class"; a class is never passed.


def handle_error(request: HttpRequest, error: Any) -> JsonResponse:
    status = find_status(error)
    translated = translate(error, status)
    if translated.status >= 500:
        log.error("dify_api.error", error=type(error).__name__, path=request.path, exc_info=error)
    response = build_response(translated)
    add_retry_after(response, error)
    return response


def handle_validation_error(request: HttpRequest, error: Any) -> JsonResponse:
    """Name the first field at fault; a missing user comes before all others, as in Dify."""
    problems = [(_find_field(item["loc"]), item) for item in error.errors]
    if any(field == "user" for field, _item in problems):
        return build_response(DifyError(400, "invalid_param", USER_MISSING, "user"))
    field, item = problems[0]
    message = f"{field}: {item['msg']}" if field else str(item["msg"])
    return build_response(DifyError(400, "invalid_param", message, field))


def handle_not_signed_in(request: HttpRequest, error: Any) -> JsonResponse:
    header = request.headers.get("Authorization", "")
    message = INVALID_KEY if header.lower().startswith("bearer ") else NO_HEADER
    return build_response(DifyError(401, "unauthorized", message))


def handle_http_error(request: HttpRequest, error: Any) -> JsonResponse:
    code = STATUS_CODES.get(error.status_code, "bad_request")
    return build_response(DifyError(error.status_code, code, str(error)))


def handle_throttled(request: HttpRequest, error: Any) -> JsonResponse:
    response = build_response(DifyError(429, "too_many_requests", str(TOO_MANY_REQUESTS)))
    if error.wait is not None:
        response["Retry-After"] = str(int(error.wait))
    return response


def _find_field(location: Any) -> str:
    """Return the field of an error, without the source and the view parameter, which Ninja adds."""
    names = [str(name) for name in location[1:]]
    return ".".join(names[1:] if len(names) > 1 and names[0] in ("body", "query") else names)


ERRORS: tuple[type[Exception], ...] = (DifyError, *STATUS)
for error_class in ERRORS:
    dify_api.add_exception_handler(error_class, handle_error)
dify_api.add_exception_handler(ValidationError, handle_validation_error)
dify_api.add_exception_handler(AuthenticationError, handle_not_signed_in)
dify_api.add_exception_handler(HttpError, handle_http_error)
dify_api.add_exception_handler(Throttled, handle_throttled)
