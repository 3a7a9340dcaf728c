"""The language of a page: the person's own choice, then this browser's, then the browser's preferences."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.deprecation import MiddlewareMixin


class PersonLanguageMiddleware(MiddlewareMixin):
    """Runs after Django's own middleware, which knows cookie and headers but not people."""

    def process_request(self, request: HttpRequest) -> None:
        user = getattr(request, "user", None)
        locale = getattr(user, "locale", "")  # nobody signed in has none
        if is_spoken(locale):
            translation.activate(locale)
            request.LANGUAGE_CODE = translation.get_language()


def is_spoken(locale: str) -> bool:
    return locale in dict(settings.LANGUAGES)
