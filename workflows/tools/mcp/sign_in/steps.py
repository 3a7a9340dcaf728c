"""The steps of a sign-in as whoever leads a person through it sees them: begin, come back with a code, revoke."""

import secrets
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from mcp.client.auth import PKCEParameters

from workflows.engine.errors import ToolFailed
from workflows.tools.challenges import Challenge, SignInNeeded
from workflows.tools.mcp.servers import Server
from workflows.tools.mcp.session import list_tools
from workflows.tools.mcp.sign_in.clients import (
    TypedClient,
    choose_client,
    dump_client,
    load_client,
)
from workflows.tools.mcp.sign_in.discovery import AuthorizationServer, discover
from workflows.tools.mcp.sign_in.exchanges import open_exchanges
from workflows.tools.mcp.sign_in.tokens import build_authorization_url, exchange_code
from workflows.tools.signed_in.installation import Installation
from workflows.tools.signed_in.tokens import Grant, Tokens


BEGIN_SECONDS: Final = 60.0  # for all requests before a person is sent to the server


@dataclass(frozen=True, slots=True)
class Beginning:
    """The address to which a person is sent, and what has to be known when the person comes back.

    ``server`` and ``client`` are as they are stored.
    """

    url: str = field(repr=False)
    state: str = field(repr=False)
    code_verifier: str = field(repr=False)
    server: dict[str, Any]
    client: dict[str, Any]
    client_secret: str | None = field(repr=False)
    resource: str
    scope: str


async def begin(
    url: str,
    installation: Installation,
    *,
    typed: TypedClient | None = None,
    earlier: Grant | None = None,
    missing_scope: str = "",
) -> Beginning:
    """Find out where to sign in for the MCP server at the URL, and as which client.

    ``earlier`` is an earlier sign-in, whose client is used again if possible. Raise ``ToolFailed``.
    """
    earlier_client = load_client(earlier.client, earlier.client_secret) if earlier else None
    try:
        with anyio.fail_after(BEGIN_SECONDS):
            challenge = await _find_challenge(url)
            async with open_exchanges(url) as exchanges:
                server = await discover(exchanges, url, challenge, missing_scope)
                client = await choose_client(
                    exchanges,
                    server.metadata,
                    installation,
                    server.scope,
                    typed=typed,
                    earlier=earlier_client,
                )
    except TimeoutError:
        raise ToolFailed(
            "The servers took too long to say where to sign in", retryable=True
        ) from None
    pkce, state = PKCEParameters.generate(), secrets.token_urlsafe(32)
    return Beginning(
        url=build_authorization_url(
            server,
            client,
            redirect_uri=installation.redirect_uri,
            state=state,
            challenge=pkce.code_challenge,
        ),
        state=state,
        code_verifier=pkce.code_verifier,
        server=server.to_json(),
        client=dump_client(client),
        client_secret=client.client_secret,
        resource=server.resource,
        scope=server.scope,
    )


def check_issuer(grant: Grant, issuer: str | None) -> None:
    """Raise ``ToolFailed`` if a person came back from another server than the one that was asked."""
    _read_server(grant).check_issuer(issuer)


async def finish(grant: Grant, *, code: str, code_verifier: str, redirect_uri: str) -> Tokens:
    """Return the tokens for the code with which a person came back. ``grant`` has none yet. Raise ``ToolFailed``."""
    async with open_exchanges(grant.url) as exchanges:
        return await exchange_code(
            exchanges,
            _read_server(grant),
            load_client(grant.client, grant.client_secret),
            code=code,
            code_verifier=code_verifier,
            redirect_uri=redirect_uri,
        )


async def _find_challenge(url: str) -> Challenge:
    """Return what the server answers to somebody who hasn't signed in; a few list their tools to everybody."""
    try:
        await list_tools(Server(url))
    except SignInNeeded as refusal:
        return refusal.challenge
    return Challenge()


def _read_server(grant: Grant) -> AuthorizationServer:
    return AuthorizationServer.from_json(grant.server, grant.resource, grant.scope)
