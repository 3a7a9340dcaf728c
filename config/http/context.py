"""Template context of every page."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from config.http.health import get_readiness


def get_base_url(request: HttpRequest) -> str:
    """Return the site's public URL without a slash at its end: the setting PUBLIC_URL, or else the request's own host."""
    return (settings.PUBLIC_URL or request.build_absolute_uri("/")).rstrip("/")


def page(request: HttpRequest) -> dict[str, Any]:
    """Return the variables of every template. `base_url` is for the URLs in examples of API requests.

    `csp_nonce` is lazy: it is in the policy of those pages only that print it. django-htmx looks for it by this name.
    """
    return {
        "base_url": SimpleLazyObject(lambda: get_base_url(request)),
        "csp_nonce": getattr(request, "csp_nonce", None),
        "memory_enabled": settings.MEMORY_ENABLED,
        "signup_open": settings.SIGNUP_OPEN,
        "worker_notice": get_readiness().worker_notice.value,
    }
