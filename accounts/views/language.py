"""Changes the language of this browser, and that of the user's profile if the user is signed in."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from accounts import services
from accounts.http.language import is_supported_language
from accounts.models import User


@require_POST
def choose(request: HttpRequest) -> HttpResponseBase:
    locale = request.POST.get("language", "")
    if isinstance(request.user, User) and is_supported_language(locale):
        services.change_language(request.user, locale=locale)
    return set_language(request)
