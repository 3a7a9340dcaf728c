"""Who may call the API: programmes with a key, and our own pages with the session and its CSRF token."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.security import APIKeyCookie, HttpBearer

from accounts.middleware import bearer_of
from accounts.principals import Principal, principal_of


class KeyAuth(HttpBearer):
    """``Authorization: Bearer mf_…``. The middleware has looked the key up, before the tenant was opened."""

    def authenticate(self, request: HttpRequest, token: str) -> Principal | None:
        found: Principal | None = getattr(request, "principal", None)
        return found if found is not None and found.kind == "key" else None


class SessionAuth(APIKeyCookie):
    """The session of a signed-in person; writes need the CSRF token. Never beside a key that was refused."""

    param_name = "session"

    def authenticate(self, request: HttpRequest, key: str | None) -> Principal | None:
        if bearer_of(request) is not None or not request.user.is_authenticated:
            return None
        return principal_of(request)


def api_auth() -> list[KeyAuth | SessionAuth]:
    """What every router asks for: ``Router(auth=api_auth())``."""
    return [KeyAuth(), SessionAuth()]
