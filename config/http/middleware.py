"""Middleware that accepts only JSON in writes of the API, makes its error responses JSON, and rejects NUL characters.

Any page on the web can post a form or a text/plain body without a preflight request; JSON needs one.
"""

from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseBase,
    JsonResponse,
    UnreadablePostError,
)
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop


API_PREFIX = "/api/"
WRITE_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
# Paths whose forms may contain no NUL character. Workflow inputs handle such characters separately.
NO_NUL_PATHS = ("/memory/", "/team/")
_MESSAGES = {
    400: ("BadRequest", gettext_noop("The request is malformed.")),
    403: ("Forbidden", gettext_noop("You don't have permission to do that.")),
    404: ("NotFound", gettext_noop("Not found.")),
    405: ("MethodNotAllowed", gettext_noop("This method isn't allowed here.")),
    500: ("ServerError", gettext_noop("Something went wrong on the server.")),
}


class JsonWritesMiddleware(MiddlewareMixin):
    """Rejects writes to the API whose content type isn't JSON. A request without a body may omit the type."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if not request.path_info.startswith(API_PREFIX) or request.method not in WRITE_METHODS:
            return None
        has_length = request.headers.get("Content-Length", "0") not in ("", "0")
        has_body = has_length or "Transfer-Encoding" in request.headers
        if request.content_type == "application/json" or not (has_body or request.content_type):
            return None
        message = "Send application/json."
        error = {"type": "UnsupportedMediaType", "message": message, "retryable": False}
        return JsonResponse({"error": error}, status=415)


class NoNulMiddleware(MiddlewareMixin):
    """Rejects NUL characters in URLs and in forms under NO_NUL_PATHS, because the database can't store them."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        query = request.META.get("QUERY_STRING", "")
        if "%00" in query or "\x00" in query or "\x00" in request.path_info:
            return HttpResponseBadRequest()
        return None

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        """Reject NUL characters in the fields of a form. The parser of JSON rejects them in JSON."""
        if not request.path_info.startswith(NO_NUL_PATHS) or request.content_type not in FORM_TYPES:
            return None
        try:
            fields = request.POST.lists()
        except UnreadablePostError:  # the client disconnected
            return None
        if any("\x00" in text for name, values in fields for text in (name, *values)):
            return HttpResponseBadRequest()
        return None


class ApiErrorsMiddleware(MiddlewareMixin):
    """Replaces error pages under the API by JSON, for errors that Ninja didn't handle."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if not request.path_info.startswith(API_PREFIX) or response.status_code < 400:
            return response
        if response.headers.get("Content-Type", "").startswith("application/json"):
            return response
        status = response.status_code
        kind, message = _MESSAGES.get(status) or _MESSAGES[500 if status >= 500 else 400]
        error = {"type": kind, "message": _(message), "retryable": False}
        json_response = JsonResponse({"error": error}, status=status)
        json_response.cookies = response.cookies
        for name in ("Allow", "Retry-After"):
            if name in response.headers:
                json_response[name] = response.headers[name]
        return json_response
