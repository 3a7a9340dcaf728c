"""Template context of every page."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject


def get_base_url(request: HttpRequest) -> str:
    """Return the site's public address without a slash at its end: the setting, or else the address that was asked."""
    return (settings.PUBLIC_URL or request.build_absolute_uri("/")).rstrip("/")


def page(request: HttpRequest) -> dict[str, Any]:
    """Return the context. `csp_nonce` is lazy: only a page that prints it gets it into its policy.

    The name is the one that django-htmx looks for. `base_url` begins the addresses in examples of API requests.
    """
    return {
        "base_url": SimpleLazyObject(lambda: get_base_url(request)),
        "csp_nonce": getattr(request, "csp_nonce", None),
        "memory_enabled": settings.MEMORY_ENABLED,
        "signup_open": settings.SIGNUP_OPEN,
    }
