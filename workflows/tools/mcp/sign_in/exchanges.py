"""Requests to the servers with which a person signs in, through the guarded client."""

import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from config import net
from workflows.engine.errors import ToolFailed
from workflows.tools.operations import clean_text


EXCHANGE_SECONDS: Final = 15.0
MAX_BODY: Final = 256 * 1024

Response = Any  # httpx2.Response: only config.net imports httpx2


class Exchanges:
    """Sends requests of one sign-in. No redirect is followed.

    ``server_url`` is that of the MCP server: an address of this machine is called only if the MCP server has one, too, so that
    no server elsewhere can name one of our own as its authorization server.
    """

    def __init__(self, client: Any, server_url: str) -> None:  # httpx2.AsyncClient
        self._client, self._server_url = client, server_url

    async def send(self, method: str, url: str, **options: Any) -> Response:
        """Return the response with its body. Raise ``ToolFailed`` if there is none, or if the URL is less safe than the server's."""
        try:
            check_url(url, self._server_url)
            return await self._client.request(method, url, **options)
        except ToolFailed:
            raise
        except Exception as error:
            if failure := net.describe_failure(error, url):
                raise ToolFailed(str(failure), retryable=failure.retryable) from None
            if isinstance(error, OSError | ValueError):
                raise ToolFailed(f"{clean_text(url, 200)!r} is not a valid address") from None
            raise


@asynccontextmanager
async def open_exchanges(server_url: str) -> AsyncIterator[Exchanges]:
    async with net.build_client(
        timeout=EXCHANGE_SECONDS, max_body=MAX_BODY, for_mcp=is_on_this_machine(server_url)
    ) as client:
        yield Exchanges(client, server_url)


def check_url(url: str, server_url: str) -> None:
    """Raise ``ToolFailed`` for an address without encryption, unless the MCP server itself has none.

    An address with a user name could look like that of another site to the person who is sent there.
    """
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ToolFailed(f"An address of the sign-in has a user name: {clean_text(url, 200)}")
    if parts.scheme not in ("https", urlsplit(server_url).scheme):
        raise ToolFailed(f"The server wants a sign-in without encryption: {clean_text(url, 200)}")


def is_on_this_machine(url: str) -> bool:
    """Return whether the URL names this machine by its address or as localhost."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
