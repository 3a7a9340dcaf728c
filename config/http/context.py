"""What every template may use."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest


def page(request: HttpRequest) -> dict[str, Any]:
    """`csp_nonce` is lazy: only a page that prints it gets it into its policy. django-htmx looks for this very name."""
    return {
        "csp_nonce": getattr(request, "csp_nonce", None),
        "memory_enabled": settings.MEMORY_ENABLED,
        "signup_open": settings.SIGNUP_OPEN,
    }
