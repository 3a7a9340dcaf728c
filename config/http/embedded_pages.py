"""Takes all authority but that of their own header from the requests of a public page that another site embeds.

Browsers send no cookies from within another site, so the frame of the bubble sends who its visitor is in a header. A
request with this header has no cookies for the application: neither is somebody signed in, nor could another site use
what the browser adds by itself. Therefore it needs no CSRF token, which is in a cookie as well. No other site can add the
header, since that needs its server's consent (CORS), which is never given.
"""

from typing import Final

from django.http import HttpRequest
from django.utils.deprecation import MiddlewareMixin


HEADER: Final = "X-Visitor"
PATH: Final = "/p/"


class EmbeddedPagesMiddleware(MiddlewareMixin):
    """Removes the cookies of requests that name their visitor in the header. It comes before all that reads cookies."""

    def process_request(self, request: HttpRequest) -> None:
        if HEADER not in request.headers or not request.path_info.startswith(PATH):
            return
        request.COOKIES.clear()
        request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]  # read by Django's middleware
