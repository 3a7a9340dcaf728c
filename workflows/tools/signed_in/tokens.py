"""The tokens of a sign-in, and what is needed to renew them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Tokens:
    """What an authorization server gave. Without ``expires_at`` the access token holds until a server refuses it."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: datetime | None
    scope: str


@dataclass(frozen=True, slots=True)
class Grant:
    """What the authorization server has to be told to renew or to revoke tokens. ``server`` and ``client`` are as stored."""

    url: str  # of the MCP server
    server: dict[str, Any]
    client: dict[str, Any]
    client_secret: str | None = field(repr=False)
    resource: str
    scope: str
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
