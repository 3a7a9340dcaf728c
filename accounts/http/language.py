"""Chooses the language of a page: the user's setting, then the browser's cookie, then the browser's preferences."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.deprecation import MiddlewareMixin

from accounts.principals import Principal, UserPrincipal


class PersonLanguageMiddleware(MiddlewareMixin):
    """Applies the user's language. It runs after Django's own middleware, which reads the cookie and the headers."""

    def process_request(self, request: HttpRequest) -> None:
        user = getattr(request, "user", None)
        locale = getattr(user, "locale", "")  # an anonymous user has none
        if is_supported_language(locale):
            translation.activate(locale)
            request.LANGUAGE_CODE = translation.get_language()


def find_language(request: HttpRequest, principal: Principal) -> str:
    """Return the language of the responses to this principal, as the middlewares choose it."""
    locale = principal.user.locale if isinstance(principal, UserPrincipal) else ""
    if is_supported_language(locale):
        return locale
    return translation.get_language_from_request(request)


def is_supported_language(locale: str) -> bool:
    return locale in dict(settings.LANGUAGES)
