"""Authentication of the API: API keys for clients, and the session with its CSRF token for the application's pages."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.security import APIKeyCookie, HttpBearer

from accounts.http.middleware import read_bearer_token
from accounts.principals import Principal, get_principal


class KeyAuth(HttpBearer):
    """Authenticates ``Authorization: Bearer mf_…`` with the key that the middleware found before it opened the tenant."""

    def authenticate(self, request: HttpRequest, token: str) -> Principal | None:
        principal: Principal | None = getattr(request, "principal", None)
        return principal if principal is not None and principal.kind == "key" else None


class SessionAuth(APIKeyCookie):
    """Authenticates a signed-in user by the session. Writes need the CSRF token; requests with a key are never accepted."""

    param_name = "session"

    def authenticate(self, request: HttpRequest, key: str | None) -> Principal | None:
        if read_bearer_token(request) is not None or not request.user.is_authenticated:
            return None
        return get_principal(request)


def api_auth() -> list[KeyAuth | SessionAuth]:
    """Return the authentication that every router uses: ``Router(auth=api_auth())``."""
    return [KeyAuth(), SessionAuth()]
