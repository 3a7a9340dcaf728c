"""Who may show a page of ours in a frame: the sites the server names, and only the pages made for it."""

from django.conf import settings
from django.http import HttpResponse


def framable(response: HttpResponse) -> HttpResponse:
    """Without EMBED_ORIGINS the page stays as forbidden as all others."""
    if settings.EMBED_ORIGINS:
        # Read by the middlewares of both headers; browsers that know the one ignore the other.
        response._csp_replace = {"frame-ancestors": list(settings.EMBED_ORIGINS)}  # type: ignore[attr-defined]
        response.xframe_options_exempt = True
    return response
