"""Asks an authorization server for tokens, renews and revokes them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.utils import timezone
from mcp.client.auth import OAuthTokenError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import handle_token_response_scopes
from mcp.shared.auth import OAuthClientMetadata

from workflows.engine.errors import ToolFailed
from workflows.tools.challenges import SignInEnded
from workflows.tools.echoed_secrets import Cleaner
from workflows.tools.mcp.sign_in.clients import Client, load_client
from workflows.tools.mcp.sign_in.discovery import AuthorizationServer
from workflows.tools.mcp.sign_in.exchanges import Exchanges, Response, open_exchanges
from workflows.tools.operations import clean_text
from workflows.tools.secret_finder import SecretFinder
from workflows.tools.signed_in.tokens import Grant, Tokens


# With these a server says that the tokens or the client are not valid any more; others are worth another attempt.
_ENDED: Final = frozenset(
    {"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "invalid_target"}
)
# Of a request, these are nobody's but the server's.
_SECRET_VALUES: Final = ("refresh_token", "code", "code_verifier")
MAX_TOKEN: Final = 32 * 1024  # characters; some servers put a whole document into one
_NO_STORAGE: Final[Any] = None
MAX_LIFE_SECONDS: Final = 365 * 24 * 3600


def build_authorization_url(
    server: AuthorizationServer, client: Client, *, redirect_uri: str, state: str, challenge: str
) -> str:
    """Return the address at which a person signs in."""
    params = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "resource": server.resource,
    }
    if server.scope:
        params["scope"] = server.scope
    if "offline_access" in server.scope.split():
        params["prompt"] = "consent"  # OpenID Connect gives no refresh token without it
    endpoint = str(server.metadata.authorization_endpoint)
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(params)}"


async def exchange_code(
    exchanges: Exchanges,
    server: AuthorizationServer,
    client: Client,
    *,
    code: str,
    code_verifier: str,
    redirect_uri: str,
) -> Tokens:
    """Return the tokens for the code with which a person came back. Raise ``ToolFailed`` if there are none."""
    values = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": code_verifier,
    }
    response = await _ask(exchanges, server, client, values)
    return await _read_tokens(response, _build_cleaner(client, values), scope=server.scope)


async def renew(grant: Grant) -> Tokens:
    """Return new tokens. Raise ``SignInEnded`` if there will be none, or ``ToolFailed`` if a later attempt may get some."""
    server = AuthorizationServer.from_json(grant.server, grant.resource, grant.scope)
    client = load_client(grant.client, grant.client_secret)
    values = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token}
    async with open_exchanges(grant.url) as exchanges:
        response = await _ask(exchanges, server, client, values)
        clean = _build_cleaner(client, values)
        return await _read_tokens(
            response, clean, scope=grant.scope, refresh_token=grant.refresh_token
        )


async def revoke(grant: Grant) -> bool:
    """Ask the server to forget the tokens (RFC 7009). Return whether it says that it did."""
    server = AuthorizationServer.from_json(grant.server, grant.resource, grant.scope)
    client = load_client(grant.client, grant.client_secret)
    endpoint = server.metadata.revocation_endpoint
    if endpoint is None:
        return False
    tokens = {"refresh_token": grant.refresh_token, "access_token": grant.access_token}
    are_gone = True
    async with open_exchanges(grant.url) as exchanges:
        for hint, token in tokens.items():
            if token:
                values = {"token": token, "token_type_hint": hint}
                response = await _send_form(exchanges, str(endpoint), client, values)
                are_gone = are_gone and response.status_code == 200
    return are_gone


async def _ask(
    exchanges: Exchanges, server: AuthorizationServer, client: Client, values: Mapping[str, str]
) -> Response:
    values = {**values, "resource": server.resource}
    return await _send_form(exchanges, str(server.metadata.token_endpoint), client, values)


async def _send_form(
    exchanges: Exchanges, url: str, client: Client, values: Mapping[str, str]
) -> Response:
    # The package's context knows how each kind of client proves itself; nothing else of it is used.
    context = OAuthContext(
        server_url=url,
        client_metadata=OAuthClientMetadata(redirect_uris=client.redirect_uris),
        storage=_NO_STORAGE,
        redirect_handler=None,
        callback_handler=None,
        client_info=client,
    )
    try:
        data, headers = context.prepare_token_auth({**values, "client_id": client.client_id}, {})
    except OAuthTokenError:
        raise ToolFailed("The authorization server wants a proof that can't be given") from None
    return await exchanges.send(
        "POST", url, data=data, headers={**headers, "Accept": "application/json"}
    )


def _build_cleaner(client: Client, values: Mapping[str, str]) -> Cleaner:
    """Return what removes the secrets of a request from its refusal, which people and models are told."""
    secrets = (values.get(name) for name in _SECRET_VALUES)
    return Cleaner(SecretFinder(filter(None, (client.client_secret, *secrets))))


async def _read_tokens(
    response: Response, clean: Cleaner, *, scope: str, refresh_token: str = ""
) -> Tokens:
    """Return the tokens of a response. What it leaves out stays as it was."""
    if response.status_code not in (200, 201):
        raise _read_refusal(response, clean)
    try:
        answer = await handle_token_response_scopes(response)
    except OAuthTokenError:
        raise ToolFailed("The authorization server sent an answer that is not valid") from None
    new_refresh_token = answer.refresh_token or refresh_token
    for token in (answer.access_token, new_refresh_token):
        if len(token) > MAX_TOKEN or not (token.isascii() and token.isprintable()):
            raise ToolFailed("The authorization server sent a token that can't be used")
    return Tokens(
        access_token=answer.access_token,
        refresh_token=new_refresh_token,
        expires_at=_read_expiry(answer.expires_in),
        scope=answer.scope or scope,
    )


def _read_expiry(seconds: int | None) -> datetime | None:
    if seconds is None:
        return None
    return timezone.now() + timedelta(seconds=min(max(seconds, 0), MAX_LIFE_SECONDS))


def _read_refusal(response: Response, clean: Cleaner) -> ToolFailed:
    """Return why there are no tokens (RFC 6749, section 5.2)."""
    status = response.status_code
    try:
        body = response.json()
    except ValueError:
        body = None
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, str) and error in _ENDED:
        description = body.get("error_description")
        description = clean_text(clean(description) if isinstance(description, str) else "", 300)
        return SignInEnded(": ".join(part for part in (error, description) if part))
    message = f"The authorization server answered with the status {status}"
    return ToolFailed(message, retryable=status == 429 or status >= 500)
