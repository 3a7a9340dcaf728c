"""An MCP server that wants a sign-in, with its authorization server: both are those of the official package, on loopback.

with serve_sign_in() as server:
    ... server.url ...                        the MCP server
    answer = server.sign_in(address)          what the browser of a person gets who signs in at this address
    assert server.tokens[0].resource == server.url

``metadata`` and ``resource_metadata`` replace what the servers say about themselves. With ``asks_first``, people meet a page
that asks them before they are sent back.
"""

import asyncio
import http.client
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    ProviderTokenVerifier,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tests.fakes.mcp_servers import ServedMcp
from tests.support.own_server import run_server


SCOPE: Final = "tools"
_SERVER_METADATA: Final = "/.well-known/oauth-authorization-server"
_CONSENT: Final = "/consent"
_RESOURCE_METADATA: Final = "/.well-known/oauth-protected-resource/mcp"

Answer = Mapping[str, str]
OnRequest = Callable[[], Response | Awaitable[Response | None] | None]


@dataclass
class SignInServer:
    """A running pair of servers, and what their clients did. It keeps the promises that OAuth 2.1 asks of a server."""

    registers: bool = True
    revokes: bool = True
    lifetime: int | None = 3600  # of an access token in seconds
    asks_first: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    resource_metadata: dict[str, Any] = field(default_factory=dict)
    required_scopes: list[str] = field(default_factory=lambda: [SCOPE])
    mcp: ServedMcp = field(default_factory=ServedMcp)
    origin: str = ""
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    tokens: list[AccessToken] = field(default_factory=list)
    refresh_tokens: list[RefreshToken] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)  # "POST /token"
    asked: list[Answer] = field(
        default_factory=list
    )  # the parameters of people who came to sign in
    # What happens to a request to this path instead, such as a failure; None lets it through, at once or later.
    on_request: dict[str, OnRequest] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def sign_in(self, address: str) -> Answer:
        """Return the parameters with which a person's browser comes back who allows everything at this address."""
        parts = urlsplit(address)
        self.asked.append(dict(parse_qsl(parts.query)))
        connection = http.client.HTTPConnection(parts.netloc, timeout=30)
        connection.request("GET", f"{parts.path}?{parts.query}")
        response = connection.getresponse()
        location = response.getheader("location")
        connection.close()
        assert location is not None, response.status
        return dict(parse_qsl(urlsplit(location).query))

    def end_tokens(self) -> None:
        """Forget all access tokens, as if a person had withdrawn them; refresh tokens hold."""
        self.tokens.clear()

    def build(self) -> Starlette:
        settings = AuthSettings.model_validate(
            {
                "issuer_url": self.origin,
                "resource_server_url": self.url,
                "required_scopes": self.required_scopes,
                "validate_token_resource": True,
                "client_registration_options": self._registration,
                "revocation_options": self._revocation,
            }
        )
        return self.mcp.build().streamable_http_app(
            auth=settings, auth_server_provider=self, token_verifier=ProviderTokenVerifier(self)
        )

    def describe_server(self) -> dict[str, Any]:
        metadata = build_metadata(
            AnyHttpUrl(self.origin), None, self._registration, self._revocation
        )
        values = metadata.model_dump(mode="json", exclude_none=True)
        return {**values, "issuer": self.origin, **self.metadata}

    @property
    def _registration(self) -> ClientRegistrationOptions:
        return ClientRegistrationOptions(enabled=self.registers)

    @property
    def _revocation(self) -> RevocationOptions:
        return RevocationOptions(enabled=self.revokes)

    # What follows is the package's OAuthAuthorizationServerProvider.

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(16),
            scopes=params.scopes or [],
            expires_at=time.time() + 600,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        self.codes[code.code] = code
        address, back = str(params.redirect_uri), {"state": params.state, "iss": self.origin}
        allowed = construct_redirect_uri(address, code=code.code, **back)
        if not self.asks_first:
            return allowed
        denied = construct_redirect_uri(address, error="access_denied", **back)
        return construct_redirect_uri(f"{self.origin}{_CONSENT}", allow=allowed, deny=denied)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._give(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return next((each for each in self.refresh_tokens if each.token == refresh_token), None)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if refresh_token not in self.refresh_tokens:
            raise TokenError("invalid_grant", "used twice")
        self.refresh_tokens.remove(refresh_token)
        return self._give(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return next((each for each in self.tokens if each.token == token), None)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.tokens = [each for each in self.tokens if each.token != token.token]
        self.refresh_tokens = [each for each in self.refresh_tokens if each.token != token.token]

    async def exchange_identity_assertion(self, client: Any, params: Any) -> OAuthToken:
        raise TokenError("unsupported_grant_type")

    def _give(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access_token, refresh_token = (f"{kind}-{secrets.token_hex(16)}" for kind in ("at", "rt"))
        values: dict[str, Any] = {"client_id": client_id, "scopes": scopes, "resource": resource}
        self.tokens.append(AccessToken(token=access_token, **values))
        self.refresh_tokens.append(RefreshToken(token=refresh_token, **values))
        return OAuthToken(
            access_token=access_token,
            refresh_token=refresh_token,
            expires_in=self.lifetime,
            scope=" ".join(scopes) or None,
        )


@contextmanager
def serve_sign_in(*, port: int = 0, **settings: Any) -> Iterator[SignInServer]:
    """Serve an MCP server that wants a sign-in."""
    server = SignInServer(**settings)
    application = _Application(server)
    with run_server(application, lifespan="on", port=port) as (origin, _clock):
        server.origin = origin
        application.is_addressed.set_result(None)
        yield server


class _Application:
    """Builds the servers as soon as their address is known, in which the system chooses the port."""

    def __init__(self, server: SignInServer) -> None:
        self._server = server
        self.is_addressed: Future[None] = Future()
        self._built: asyncio.Future[Starlette] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        assert self._built is not None
        inner = await asyncio.shield(self._built)
        self._server.requests.append(f"{scope['method']} {scope['path']}")
        response = self._replace(scope["path"], scope["query_string"])
        if isinstance(response, Awaitable):
            response = await response
        await (response or inner)(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._built = asyncio.get_running_loop().create_future()
        await send({"type": "lifespan.startup.complete"})
        await asyncio.wrap_future(self.is_addressed)
        inner = self._server.build()
        async with inner.router.lifespan_context(inner):
            self._built.set_result(inner)
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    def _replace(self, path: str, query: bytes) -> Response | Awaitable[Response | None] | None:
        server = self._server
        if path in server.on_request:
            return server.on_request[path]()
        if path == _CONSENT:
            return _show_consent(dict(parse_qsl(query.decode())))
        if path == _SERVER_METADATA:
            return JSONResponse(server.describe_server())
        if path == _RESOURCE_METADATA and server.resource_metadata:
            values = {"resource": server.url, "authorization_servers": [server.origin]}
            return JSONResponse({**values, **server.resource_metadata})
        return None


def _show_consent(links: Mapping[str, str]) -> Response:
    """Return the page on which a person allows or denies what was asked for."""
    paragraphs = (
        f'<p><a href="{escape(link)}">{name.title()}</a></p>' for name, link in links.items()
    )
    head = '<!doctype html><title>Sign in</title><link rel="icon" href="data:,"><h1>Sign in</h1>'
    return HTMLResponse(head + "".join(paragraphs))
