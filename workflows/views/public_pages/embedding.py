"""The frame in which other sites show a public page, and the ticket of the visitor in it.

The frame itself is the same for everybody. Its script gets a ticket, keeps it in the storage of the frame, which browsers
keep apart for each site around it, and sends it as a header with each request.
"""

from functools import cache
from pathlib import Path
from typing import Final

from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.http.language import is_supported_language
from workflows.services.public_pages.visitors import sign_ticket
from workflows.views.public_pages.addresses import PublicChatUrls
from workflows.views.public_pages.visits import Visit
from workflows.views.script_texts import translate_texts


NO_SITE: Final = "'none'"
SCRIPT_SECONDS: Final = 3600


def show_frame(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the empty frame, in the language that the site asks for. Only the page's sites may have it within them."""
    language = request.GET.get("language", "")
    if is_supported_language(language):
        translation.activate(language)
    urls = PublicChatUrls(visit)
    is_memory = request.GET.get("view") == "memory"
    context = {
        "workflow": visit.workflow,
        "content_url": urls.get("memory" if is_memory else "page"),
        "visitor_url": urls.get("visitor"),
        "words": translate_texts("common/file_picker.js"),
    }
    response = render(request, "public_pages/embed.html", context)
    # The middlewares of both headers read these; a browser that knows frame-ancestors ignores X-Frame-Options.
    response._csp_replace = {"frame-ancestors": _list_sites(visit)}  # type: ignore[attr-defined]
    response.xframe_options_exempt = True
    return response


@require_safe
def send_script(request: HttpRequest) -> HttpResponse:
    """Send the script of the bubble, which sites load by this short address."""
    response = HttpResponse(_read_script(), content_type="text/javascript; charset=utf-8")
    response["Cache-Control"] = f"public, max-age={SCRIPT_SECONDS}"
    response["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


@cache
def _read_script() -> bytes:
    return Path(str(finders.find("js/public_pages/embed.js"))).read_bytes()


def send_ticket(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Send the ticket of the visitor: the one that the request named, or a new one."""
    if not visit.is_embedded:
        return HttpResponse(_("This is for the chat bubble only."), status=422)
    return JsonResponse({"ticket": sign_ticket(visit.page, visit.visitor)})


def _list_sites(visit: Visit) -> list[str]:
    """Return the sites around the frame. A page for members is in none: nobody is signed in there."""
    if visit.is_member:
        return [NO_SITE]
    return list(visit.page.origins) or [NO_SITE]
