"""Maps domain errors to HTTP statuses in one table, and to responses of the API, of pages and of fragments."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import DataError
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotFound,
    JsonResponse,
)
from django.shortcuts import redirect, resolve_url
from django.template.loader import get_template, select_template
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext_lazy as _
from django.views.defaults import page_not_found
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, Throttled, ValidationError

from accounts import errors as account_errors
from config.encryption.crypto import SecretUnreadable
from config.http.envelopes import ErrorSummary, build_error_response, is_api
from config.http.strict_json import NotStrictJson
from config.monitoring.request_ids import get_request_id
from config.postgres.outages import RETRY_AFTER, is_outage
from workflows import errors as workflow_errors
from workflows import memory_app
from workflows.engine import errors as engine_errors
from workflows.engine.editing import errors as editing_errors


log = structlog.get_logger(__name__)

MEMORY_AWAY = _("These memories can't be reached at the moment. Try again in a few seconds.")
DATABASE_AWAY = _(
    "The database can't be reached at the moment. Nothing is lost; try again in a moment."
)
SERVER_ERROR = _("Something went wrong on the server.")
SIGN_IN_REQUIRED = _("Sign in, or send a valid API key: Authorization: Bearer …")
MALFORMED = _("The request is malformed.")
BODY_TOO_LARGE = _("The request's body is too large.")
TOO_MANY_REQUESTS = _("Too many requests. Wait as long as Retry-After says, then go on.")
# What the database says of a NUL character, which it can't store, in the field of a form.
_NUL = "NUL (0x00)"
# Names that the views give to a body or a query; clients don't know them.
_VIEW_PARAMETERS = frozenset({"body", "params"})


def _list_memory_errors() -> dict[type[Exception], int]:
    if not memory_app.is_on():
        return {}
    memory = memory_app.errors
    return {
        memory.MemoryFault: 500,
        memory.NotFound: 404,
        memory.AlreadyExists: 409,
        memory.AccessDenied: 403,
        memory.QuotaExceeded: 409,
        memory.ValueTooLarge: 413,
        memory.InvalidInput: 422,
        memory.Serialization: 422,
        memory.ProviderError: 503,
        memory.RetrievalError: 503,
    }


# The most specific class wins. The base class of each app is the fallback for errors without a row of their own.
STATUS: Mapping[type[Exception], int] = {
    account_errors.AccountsFault: 400,
    account_errors.NotSignedIn: 401,
    account_errors.NotAllowed: 403,
    account_errors.NotFound: 404,
    account_errors.InvitationUnusable: 410,
    account_errors.StartTokenUnusable: 410,
    account_errors.LastOwner: 409,
    account_errors.AlreadyMember: 409,
    account_errors.NameTaken: 409,
    account_errors.InvalidChoice: 422,
    account_errors.SignInDelayed: 429,
    account_errors.UnscopedQuery: 500,
    account_errors.ConnectionInUse: 500,
    engine_errors.EngineFault: 400,
    engine_errors.DocumentInvalid: 422,
    engine_errors.DocumentTooLarge: 413,
    engine_errors.InputRejected: 422,
    editing_errors.EditRefused: 422,
    workflow_errors.WorkflowFault: 400,
    workflow_errors.NewerDocument: 409,
    workflow_errors.NothingToPublish: 409,
    workflow_errors.NotPublished: 409,
    workflow_errors.PublishingUnconfirmed: 409,
    workflow_errors.CasesNotPassed: 409,
    workflow_errors.NoModelConnected: 409,
    workflow_errors.DraftingFailed: 502,
    workflow_errors.WorkflowArchived: 409,
    workflow_errors.WorkflowInUse: 409,
    workflow_errors.RunNotPaused: 409,
    workflow_errors.RunNotParked: 409,
    workflow_errors.QueueFull: 429,
    workflow_errors.CallNotAllowed: 409,
    workflow_errors.WaitClosed: 409,
    workflow_errors.StillRunning: 409,
    workflow_errors.RunNotEnded: 409,
    workflow_errors.NameTaken: 409,
    workflow_errors.KeyInUse: 409,
    workflow_errors.KeyReused: 422,
    workflow_errors.CallRefused: 400,
    workflow_errors.TriggerStopped: 409,
    workflow_errors.EditConflict: 409,
    workflow_errors.NothingToUndo: 409,
    workflow_errors.InvalidValue: 422,
    workflow_errors.ContentTooLarge: 413,
    workflow_errors.FileTooLarge: 413,
    workflow_errors.FileLinkExpired: 410,
    workflow_errors.FilesUnavailable: 503,
    workflow_errors.BudgetExceeded: 429,
    workflow_errors.TooManyVisits: 429,
    workflow_errors.TooManyCallsOutside: 429,
    NotStrictJson: 400,
    SecretUnreadable: 500,
    **_list_memory_errors(),
}


def find_status(error: Exception) -> int | None:
    """Return the status of a domain error, or None for any other error, which only leaves a traceback in the log."""
    return next((STATUS[parent] for parent in type(error).__mro__ if parent in STATUS), None)


def build_body(error: Exception) -> dict[str, Any]:
    """Build the API's error body. Each problem names its field or node, so that a client can show it there."""
    body: dict[str, Any] = {
        "type": type(error).__name__,
        "message": str(error) or (type(error).__doc__ or "").strip(),
        "retryable": bool(getattr(error, "retryable", False)),
    }
    if problems := getattr(error, "problems", None):
        titles = getattr(error, "titles", {})
        body["problems"] = [_to_json(problem, titles) for problem in problems]
    elif field := getattr(error, "field", None):
        problem = {"code": body["type"], "message": body["message"], "field": field}
        node = getattr(error, "node", None)
        body["problems"] = [problem | ({"node": node} if node else {})]
    if conflicts := getattr(error, "conflicts", None):
        body["conflicts"] = [conflict.build_tree() for conflict in conflicts]
    return {"error": body}


def register_error_handlers(api: NinjaAPI) -> None:
    """Register the handlers of all these errors with the API."""
    for error_class in STATUS:
        api.add_exception_handler(error_class, handle_domain_error)
    api.add_exception_handler(ValidationError, handle_validation_error)
    api.add_exception_handler(RequestDataTooBig, handle_large_body)
    api.add_exception_handler(AuthenticationError, handle_not_signed_in)
    api.add_exception_handler(HttpError, handle_http_error)
    api.add_exception_handler(Throttled, handle_throttled)


def answer_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Respond to a path that no route matches. For the API, ``ApiErrorsMiddleware`` adds the body."""
    if is_api(request.path_info):
        return HttpResponseNotFound()
    response: HttpResponseBase = page_not_found(request, exception)
    return response


def answer_server_error(request: HttpRequest) -> HttpResponseBase:
    """Respond to an error that nothing has handled: with 503 if the database is away, so that the client tries again.

    Django calls this while it handles the error. Neither page needs the database.
    """
    error = sys.exc_info()[1]
    if error is None or not is_outage(error):
        context: dict[str, object] = {"request_id": get_request_id()}
        return _build_error_page(request, 500, str(SERVER_ERROR), context)
    log.warning("web.outage", path=request.path, why=type(error).__name__)
    if is_api(request.path_info):
        summary = ErrorSummary(503, "ServiceUnavailable", str(DATABASE_AWAY), retryable=True)
        answer: HttpResponse = build_error_response(request.path_info, summary)
    else:
        # To reload the page after a form would open its address without what was sent.
        seconds = RETRY_AFTER if request.method in ("GET", "HEAD") else None
        answer = _build_error_page(request, 503, str(DATABASE_AWAY), {"seconds": seconds})
    answer["Retry-After"] = str(RETRY_AFTER)
    # Django's traceback of each request would bury the log of the outage itself.
    answer._has_been_logged = True  # type: ignore[attr-defined]  # read by django.utils.log.log_response
    return answer


def _build_error_page(
    request: HttpRequest, status: int, message: str, context: dict[str, object]
) -> HttpResponse:
    """Return the page of an error. For htmx, return a message instead, which leaves the form and its page as they are."""
    if request.headers.get("HX-Request"):
        toast = json.dumps({"show-toast": message})
        return HttpResponse(status=status, headers={"HX-Reswap": "none", "HX-Trigger": toast})
    return HttpResponse(get_template(f"{status}.html").render(context), status=status)


class DomainErrorMiddleware(MiddlewareMixin):
    """Turns domain errors of pages into a page with the message, a fragment for htmx, or a redirect to sign-in."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, RequestDataTooBig):
            return self._build_page(request, 413, str(BODY_TOO_LARGE), error)
        if isinstance(error, DataError) and _NUL in str(error):
            return self._build_page(request, 400, str(MALFORMED), error)
        status = find_status(error)
        if status is None or (status >= 500 and status != 503):
            return None
        if status == 401:
            return _redirect_to_sign_in(request)
        message = str(error)
        if status == 503:
            # The error names the provider, its host or its answer, which concerns the operator.
            log.error("page.domain_error", path=request.path, exc_info=error)
            is_about_files = isinstance(error, workflow_errors.FilesUnavailable)
            message = str(error if is_about_files else MEMORY_AWAY)
        return self._build_page(request, status, message, error)

    def _build_page(
        self, request: HttpRequest, status: int, message: str, error: Exception
    ) -> HttpResponse:
        name = "_error.html" if getattr(request, "htmx", False) else "error.html"
        context = {"status": status, "message": message, "error": error}
        page = select_template([name, f"config/{name}"]).render(context, request)
        return add_retry_after(HttpResponse(page, status=status), error)


class NotAllowedMiddleware(MiddlewareMixin):
    """Shows a page instead of an empty response if a browser opens a URL that only accepts forms."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if response.status_code != 405 or is_api(request.path_info):
            return response
        if not request.accepts("text/html") or getattr(request, "htmx", False):
            return response
        error_page = HttpResponse(get_template("405.html").render({}, request), status=405)
        error_page["Allow"] = response.headers.get("Allow", "")
        return error_page


def _redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    url = f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': request.get_full_path()})}"
    if getattr(request, "htmx", False):  # htmx would put a followed redirect into the fragment
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return redirect(url)


# The errors below are Any, because ninja types them as "the error or its class"; a class is never passed.


def handle_domain_error(request: HttpRequest, error: Any) -> HttpResponse:
    status = find_status(error) or 500
    if status >= 500:
        log.error("api.domain_error", error=type(error).__name__, path=request.path, exc_info=error)
    return add_retry_after(JsonResponse(build_body(error), status=status), error)


def add_retry_after(response: HttpResponse, error: Exception) -> HttpResponse:
    """Tell the client when to try again, if the error knows."""
    seconds: int | None = getattr(error, "retry_after", None)
    if seconds is not None:
        response["Retry-After"] = str(seconds)
    return response


def handle_not_signed_in(request: HttpRequest, error: Any) -> HttpResponse:
    response = handle_domain_error(request, account_errors.NotSignedIn(SIGN_IN_REQUIRED))
    response["WWW-Authenticate"] = 'Bearer realm="api"'
    return response


def handle_validation_error(request: HttpRequest, error: Any) -> HttpResponse:
    problems = [
        {"field": _format_location(item["loc"]), "message": item["msg"], "code": item["type"]}
        for item in error.errors
    ]
    message = "The request doesn't match the schema."
    body = {"type": "InvalidRequest", "message": message, "retryable": False, "problems": problems}
    return JsonResponse({"error": body}, status=422)


def _format_location(location: Sequence[object]) -> str:
    """Join the location of an error for the client, without the source and the view parameter, which Ninja adds."""
    names = [str(name) for name in location[1:]]
    return ".".join(names[1:] if len(names) > 1 and names[0] in _VIEW_PARAMETERS else names)


def handle_http_error(request: HttpRequest, error: Any) -> HttpResponse:
    """Respond with the parser's error message, which Ninja wraps in an ``HttpError``."""
    if isinstance(error.__cause__, NotStrictJson):
        return handle_domain_error(request, error.__cause__)
    body = {"type": "HttpError", "message": str(error), "retryable": False}
    return JsonResponse({"error": body}, status=error.status_code)


def handle_large_body(request: HttpRequest, error: Any) -> HttpResponse:
    """Respond to a body that is larger than a request may be; see also ``config.http.body_timeout``."""
    body = {"type": "BodyTooLarge", "message": str(BODY_TOO_LARGE), "retryable": False}
    return JsonResponse({"error": body}, status=413)


def handle_throttled(request: HttpRequest, error: Any) -> HttpResponse:
    """Respond to a caller that exceeds the limit of requests; Ninja adds ``Retry-After``."""
    body = {"type": "TooManyRequests", "message": str(TOO_MANY_REQUESTS), "retryable": True}
    return JsonResponse({"error": body}, status=429)


def _to_json(problem: Any, titles: Mapping[str, str]) -> dict[str, Any]:
    names = ("code", "message", "node", "field", "edge", "severity")
    values = {name: getattr(problem, name, None) for name in names}
    values["title"] = titles.get(values["node"] or "")
    return {name: str(value) for name, value in values.items() if value is not None}
