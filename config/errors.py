"""Domain error → HTTP status: one table, for the API and (through a middleware) for pages and fragments."""

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
from config.crypto import SecretUnreadable
from config.middleware import API
from config.strict import NotStrictJson
from workflows import errors as drafts
from workflows import memory_app
from workflows.engine import errors as workflows
from workflows.engine.editing import errors as editing


log = structlog.get_logger(__name__)


def _of_memory() -> dict[type[Exception], int]:
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
    **_of_memory(),
}


def status_of(error: Exception) -> int | None:
    """None: not a domain error, so nothing to say about it but a traceback in the log."""
    return next((STATUS[family] for family in type(error).__mro__ if family in STATUS), None)


def body_of(error: Exception) -> dict[str, Any]:
    """What the API answers. Problems are addressed, so that a client can show each where it belongs."""
    body: dict[str, Any] = {
        "type": type(error).__name__,
        "message": str(error) or (type(error).__doc__ or "").strip(),
        "retryable": bool(getattr(error, "retryable", False)),
    }
    if problems := getattr(error, "problems", None):
        body["problems"] = [_fields(problem) for problem in problems]
    elif field := getattr(error, "field", None):
        about = {"code": body["type"], "message": body["message"], "field": field}
        node = getattr(error, "node", None)
        body["problems"] = [about | ({"node": node} if node else {})]
    if clashes := getattr(error, "clashes", None):
        body["clashes"] = [clash.tree() for clash in clashes]
    return {"error": body}


def register(api: NinjaAPI) -> None:
    """Teach the API the table."""
    for family in STATUS:
        api.add_exception_handler(family, _answer)
    api.add_exception_handler(ValidationError, _invalid)
    api.add_exception_handler(AuthenticationError, _answer_not_signed_in)
    api.add_exception_handler(HttpError, _http_error)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """No route leads there. Under the API nobody reads a page: its outer door finds the words."""
    if request.path_info.startswith(API):
        return HttpResponseNotFound()
    answer: HttpResponseBase = page_not_found(request, exception)
    return answer


class DomainErrorMiddleware(MiddlewareMixin):
    """Domain errors of pages: a page with the sentence; a fragment for htmx; the sign-in page for strangers."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        status = status_of(error)
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
    """An address that only takes forms, opened in a browser: a page that says so instead of an empty one."""

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
    status = status_of(error) or 500
    if status >= 500:
        log.error("api.domain_error", error=type(error).__name__, path=request.path, exc_info=error)
    return JsonResponse(body_of(error), status=status)


NO_KEY = _("Sign in, or send a key that is in force: Authorization: Bearer …")


def _answer_not_signed_in(request: HttpRequest, error: Any) -> HttpResponse:
    return _answer(request, accounts.NotSignedIn(NO_KEY))


def _invalid(request: HttpRequest, error: Any) -> HttpResponse:
    problems = [
        {
            "field": _address(found["loc"]),
            "message": found["msg"],
            "code": found["type"],
        }
        for found in error.errors
    ]
    body = {
        "type": "InvalidRequest",
        "message": "The request is not of the described form.",
        "retryable": False,
    }
    return JsonResponse({"error": {**body, "problems": problems}}, status=422)


# What our operations call a body, and a query taken as one: nothing the client has a name for.
_PARAMETERS = frozenset({"body", "asked"})


def _address(loc: Sequence[object]) -> str:
    """Ninja says where it looked and what the function calls it; the client knows only the rest."""
    parts = [str(part) for part in loc[1:]]
    inside = parts[1:] if len(parts) > 1 and parts[0] in _PARAMETERS else parts
    return ".".join(inside)


def _http_error(request: HttpRequest, error: Any) -> HttpResponse:
    """Ninja wraps what the parser says; the sentence inside is the useful one."""
    if isinstance(error.__cause__, NotStrictJson):
        return _answer(request, error.__cause__)
    body = {"type": "HttpError", "message": str(error), "retryable": False}
    return JsonResponse({"error": body}, status=error.status_code)


def _fields(problem: Any) -> dict[str, Any]:
    names = ("code", "message", "node", "field", "edge", "severity")
    return {
        name: str(value) for name in names if (value := getattr(problem, name, None)) is not None
    }
