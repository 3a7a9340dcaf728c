"""The one table from domain error to HTTP status, for the API and (through a middleware) for pages and fragments."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import structlog
from django.conf import settings
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
from ninja.errors import AuthenticationError, HttpError, ValidationError

from accounts import errors as accounts
from config.encryption.crypto import SecretUnreadable
from config.http.middleware import API
from config.http.strict_json import NotStrictJson
from workflows import errors as drafts
from workflows import memory_app
from workflows.engine import errors as workflows
from workflows.engine.editing import errors as editing


log = structlog.get_logger(__name__)


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


# The most specific row wins. A family's root stands for what nobody foresaw in it: that is a server error.
STATUS: Mapping[type[Exception], int] = {
    accounts.AccountsFault: 400,
    accounts.NotSignedIn: 401,
    accounts.NotAllowed: 403,
    accounts.NotFound: 404,
    accounts.InvitationUnusable: 410,
    accounts.StartTokenUnusable: 410,
    accounts.LastOwner: 409,
    accounts.AlreadyMember: 409,
    accounts.NameTaken: 409,
    accounts.InvalidChoice: 422,
    accounts.UnscopedQuery: 500,
    workflows.WorkflowFault: 400,
    workflows.DocumentInvalid: 422,
    workflows.InputRejected: 422,
    editing.EditRefused: 422,
    drafts.WorkflowsFault: 400,
    drafts.NewerDocument: 409,
    drafts.NothingToPublish: 409,
    drafts.WorkflowArchived: 409,
    drafts.RunNotPaused: 409,
    drafts.StillRunning: 409,
    drafts.NameTaken: 409,
    drafts.EditClash: 409,
    drafts.NothingToUndo: 409,
    drafts.InvalidValue: 422,
    NotStrictJson: 400,
    SecretUnreadable: 500,
    **_list_memory_errors(),
}


def find_status(error: Exception) -> int | None:
    """Return the status of a domain error, or None for any other error, which only leaves a traceback in the log."""
    return next((STATUS[family] for family in type(error).__mro__ if family in STATUS), None)


def build_body(error: Exception) -> dict[str, Any]:
    """Build the API's error body. Problems are addressed, so that a client can show each where it belongs."""
    body: dict[str, Any] = {
        "type": type(error).__name__,
        "message": str(error) or (type(error).__doc__ or "").strip(),
        "retryable": bool(getattr(error, "retryable", False)),
    }
    if problems := getattr(error, "problems", None):
        body["problems"] = [_to_json(problem) for problem in problems]
    elif field := getattr(error, "field", None):
        about = {"code": body["type"], "message": body["message"], "field": field}
        node = getattr(error, "node", None)
        body["problems"] = [about | ({"node": node} if node else {})]
    if clashes := getattr(error, "clashes", None):
        body["clashes"] = [clash.tree() for clash in clashes]
    return {"error": body}


def register(api: NinjaAPI) -> None:
    """Register the table with the API."""
    for family in STATUS:
        api.add_exception_handler(family, _answer)
    api.add_exception_handler(ValidationError, _answer_invalid)
    api.add_exception_handler(AuthenticationError, _answer_not_signed_in)
    api.add_exception_handler(HttpError, _answer_http_error)


def answer_not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Answer a path that no route matches. Under the API the body is written by ``ApiErrorsMiddleware``."""
    if request.path_info.startswith(API):
        return HttpResponseNotFound()
    answer: HttpResponseBase = page_not_found(request, exception)
    return answer


class DomainErrorMiddleware(MiddlewareMixin):
    """Turns domain errors of pages into a page with the sentence, a fragment for htmx, or a redirect to the sign-in
    page.
    """

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        status = find_status(error)
        if status is None or status >= 500:
            return None
        if status == 401:
            return _to_sign_in(request)
        fragment = bool(getattr(request, "htmx", False))
        names = (
            ["_error.html", "config/_error.html"]
            if fragment
            else ["error.html", "config/error.html"]
        )
        context = {"status": status, "message": str(error), "error": error}
        return HttpResponse(select_template(names).render(context, request), status=status)


class NotAllowedMiddleware(MiddlewareMixin):
    """Shows a page where an address that only takes forms is opened in a browser, instead of an empty one."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if response.status_code != 405 or request.path_info.startswith(API):
            return response
        if not request.accepts("text/html") or getattr(request, "htmx", False):
            return response
        answer = HttpResponse(get_template("405.html").render({}, request), status=405)
        answer["Allow"] = response.headers.get("Allow", "")
        return answer


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    address = f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': request.get_full_path()})}"
    if getattr(request, "htmx", False):  # a redirect would be followed into the fragment's place
        return HttpResponse(status=204, headers={"HX-Redirect": address})
    return redirect(address)


# Any, below: ninja types a handler's error as "the error or its class", which it never is.


def _answer(request: HttpRequest, error: Any) -> HttpResponse:
    status = find_status(error) or 500
    if status >= 500:
        log.error("api.domain_error", error=type(error).__name__, path=request.path, exc_info=error)
    return JsonResponse(build_body(error), status=status)


NO_KEY = _("Sign in, or send a valid API key: Authorization: Bearer …")


def _answer_not_signed_in(request: HttpRequest, error: Any) -> HttpResponse:
    return _answer(request, accounts.NotSignedIn(NO_KEY))


def _answer_invalid(request: HttpRequest, error: Any) -> HttpResponse:
    problems = [
        {
            "field": _format_location(problem["loc"]),
            "message": problem["msg"],
            "code": problem["type"],
        }
        for problem in error.errors
    ]
    body = {
        "type": "InvalidRequest",
        "message": "The request doesn't match the schema.",
        "retryable": False,
    }
    return JsonResponse({"error": {**body, "problems": problems}}, status=422)


# What our operations call a body, and a query taken as one: nothing the client has a name for.
_PARAMETERS = frozenset({"body", "params"})


def _format_location(loc: Sequence[object]) -> str:
    """Join the location of an error as the client knows it: Ninja also says where it looked and our parameter's name."""
    parts = [str(part) for part in loc[1:]]
    inside = parts[1:] if len(parts) > 1 and parts[0] in _PARAMETERS else parts
    return ".".join(inside)


def _answer_http_error(request: HttpRequest, error: Any) -> HttpResponse:
    """Answer with the parser's own sentence, which Ninja wraps in an error of its own."""
    if isinstance(error.__cause__, NotStrictJson):
        return _answer(request, error.__cause__)
    body = {"type": "HttpError", "message": str(error), "retryable": False}
    return JsonResponse({"error": body}, status=error.status_code)


def _to_json(problem: Any) -> dict[str, Any]:
    names = ("code", "message", "node", "field", "edge", "severity")
    return {
        name: str(value) for name in names if (value := getattr(problem, name, None)) is not None
    }
