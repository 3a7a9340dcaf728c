"""Opens the tenant of the requesting principal: one transaction per request, which sees only their teams' rows.

It ends while the request waits for something outside, see ``accounts.request_transaction``. It is committed if the
response's status is below 500, and otherwise rolled back, except for the audit entries of refusals. Views that wait for
long, and async ones, get their principal here, and enter ``tenant()`` themselves: see ``opens_own_tenant``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from accounts.principals import Principal, load_user_principal
from accounts.request_transaction import RequestTransaction
from accounts.services import authenticate_key


# The APIs accept keys; pages don't. The last three are those that other programs' clients speak.
KEY_PATH_PREFIXES = ("/api/", "/openai/v1/", "/v1/", "/mcp/")
_ATTRIBUTE = "_request_transaction"
_MARK: Final = "opens_own_tenant"

GetResponse = Callable[[HttpRequest], Any]  # Any: a response, or an awaitable of one
View = TypeVar("View", bound=Callable[..., Any])


def opens_own_tenant(view: View) -> View:
    """Mark a view that enters ``tenant()`` itself around each of its steps, because it waits for something between them.

    Of a path of the API, all operations are marked or none.
    """
    setattr(view, _MARK, True)
    return view


def has_own_tenant(view: Callable[..., Any]) -> bool:
    """Return whether a view enters ``tenant()`` itself, which async views do."""
    if iscoroutinefunction(view) or hasattr(view, _MARK):
        return True
    # The operations of the API are behind a function of Ninja's.
    return any(
        hasattr(operation.view_func, _MARK)
        for cell in getattr(view, "__closure__", None) or ()
        for operation in getattr(cell.cell_contents, "operations", ())
    )


class TenantMiddleware:
    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._answer_async(request)
        response: HttpResponseBase | None = None
        try:
            response = self.get_response(request)
        finally:
            _close_tenant(request, response)
        return response

    async def _answer_async(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase | None = None
        try:
            response = await self.get_response(request)
        finally:
            # This runs on the thread that holds the connection, after the view, which may outlast a cancelled request.
            await sync_to_async(_close_tenant)(request, response)
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: object, kwargs: object
    ) -> None:
        """Open the tenant just before the view, so that requests without a view open no transaction."""
        principal = _find_principal(request)
        if principal is None:
            return
        request.principal = principal  # type: ignore[attr-defined]  # set by this application
        if not has_own_tenant(view):
            request_transaction = RequestTransaction(principal.team_ids)
            request_transaction.open()
            setattr(request, _ATTRIBUTE, request_transaction)


def read_key(request: HttpRequest) -> str | None:
    """Return the secret of the key that the request was sent with, or None where keys aren't accepted."""
    return read_bearer_token(request) if request.path.startswith(KEY_PATH_PREFIXES) else None


def read_bearer_token(request: HttpRequest) -> str | None:
    scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _find_principal(request: HttpRequest) -> Principal | None:
    secret = read_key(request)
    if secret is not None:
        return authenticate_key(secret)
    user = getattr(request, "user", None)
    return load_user_principal(user) if user is not None and user.is_authenticated else None


def _close_tenant(request: HttpRequest, response: HttpResponseBase | None) -> None:
    request_transaction: RequestTransaction | None = getattr(request, _ATTRIBUTE, None)
    if request_transaction is None:
        return
    setattr(request, _ATTRIBUTE, None)
    request_transaction.close(is_rolled_back=response is None or response.status_code >= 500)
