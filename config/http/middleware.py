"""Middleware that accepts only JSON in writes of the API, makes its error responses JSON, rejects NUL characters, and takes
the cookies from embedded pages.

Any page on the web can post a form or a text/plain body without a preflight request; JSON needs one.
"""

from typing import Final

from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseBase,
    UnreadablePostError,
)
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from config.http.envelopes import ErrorSummary, build_error_response, is_api


WRITE_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
# The routes that take a file. Their forms need a CSRF token from pages, as every write of a session does.
UPLOAD_PATHS = frozenset(
    {
        *("/api/v1/files", "/api/v1/files/upload", "/api/v1/knowledge/documents"),
        *("/v1/files/upload", "/v1/audio-to-text"),
    }
)
# The addresses of webhooks take the body that their node draws. They read no session, so a page gains nothing there.
ANY_BODY_PREFIX = "/hooks/"
FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
# Paths whose forms may contain no NUL character. Workflow inputs handle such characters separately.
NO_NUL_PATHS = ("/memory/", "/team/")
VISITOR_HEADER: Final = "X-Visitor"
VISITOR_PREFIX: Final = "/p/"
_MESSAGES = {
    400: ("BadRequest", gettext_noop("The request is malformed.")),
    403: ("Forbidden", gettext_noop("You don't have permission to do that.")),
    404: ("NotFound", gettext_noop("Not found.")),
    405: ("MethodNotAllowed", gettext_noop("This method isn't allowed here.")),
    500: ("ServerError", gettext_noop("Something went wrong on the server.")),
}


class JsonWritesMiddleware(MiddlewareMixin):
    """Rejects writes to the API whose content type isn't JSON. A request without a body may omit the type.

    It waits until the address is known, so that a wrong one is answered as such.
    """

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        if not is_api(request.path_info) or request.method not in WRITE_METHODS:
            return None
        if request.path_info.startswith(ANY_BODY_PREFIX):
            return None
        has_length = request.headers.get("Content-Length", "0") not in ("", "0")
        has_body = has_length or "Transfer-Encoding" in request.headers
        if not (has_body or request.content_type):
            return None
        is_upload = request.path_info in UPLOAD_PATHS and request.method == "POST"
        expected = "multipart/form-data" if is_upload else "application/json"
        if request.content_type == expected:
            return None
        error = ErrorSummary(415, "UnsupportedMediaType", f"Send {expected}.")
        return build_error_response(request.path_info, error)


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
        if not is_api(request.path_info) or response.status_code < 400:
            return response
        if response.headers.get("Content-Type", "").startswith("application/json"):
            return response
        status = response.status_code
        kind, message = _MESSAGES.get(status) or _MESSAGES[500 if status >= 500 else 400]
        error = ErrorSummary(status, kind, _(message))
        json_response = build_error_response(request.path_info, error)
        json_response.cookies = response.cookies
        for name in ("Allow", "Retry-After"):
            if name in response.headers:
                json_response[name] = response.headers[name]
        return json_response


class EmbeddedPagesMiddleware(MiddlewareMixin):
    """Takes all authority but that of their own header from the requests of a public page that another site embeds.

    Browsers send no cookies from within another site, so the frame of the bubble sends who its visitor is in a header. A
    request with this header has no cookies for the application: neither is somebody signed in, nor could another site
    use what the browser adds by itself. Therefore it needs no CSRF token, which is in a cookie as well. No other site can
    add the header, since that needs its server's consent (CORS), which is never given.

    It comes before all that reads cookies.
    """

    def process_request(self, request: HttpRequest) -> None:
        if VISITOR_HEADER not in request.headers or not request.path_info.startswith(
            VISITOR_PREFIX
        ):
            return
        request.COOKIES.clear()
        request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]  # read by Django's middleware
