"""The API's outer door: writes carry JSON and say so.

A form or a text/plain body can be posted by any page on the web without asking first; JSON can't.
"""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.deprecation import MiddlewareMixin


WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class JsonWritesMiddleware(MiddlewareMixin):
    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if not request.path_info.startswith("/api/") or request.method not in WRITES:
            return None
        empty = (
            request.headers.get("Content-Length", "0") in ("", "0")
            and "Transfer-Encoding" not in request.headers
        )
        if request.content_type == "application/json" or (empty and not request.content_type):
            return None
        message = "Send application/json."
        return JsonResponse(
            {"error": {"type": "UnsupportedMediaType", "message": message, "retryable": False}},
            status=415,
        )
