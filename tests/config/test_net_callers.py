"""The corpus of hostile addresses through everything of the product that calls an address: none is ever contacted.

The client itself, the models and the HTTP request node are in ``test_net_hostile``.
"""

import asyncio
import socket
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest

from config.net import backends, clients
from memory.core.errors import MemoryFault
from memory.core.recall.embedding import EmbedderFault
from memory.embedding.embedders import Options
from memory.embedding.openai_compatible import OpenAICompatible
from memory.providers.http.provider import HttpProvider
from tests.config.test_net_hostile import HOSTILE, contacts, resolver
from tests.support.cases import for_each
from workflows.engine.errors import ToolFailed
from workflows.errors import InvalidValue
from workflows.models import Delivery
from workflows.services.tools.listing import fetch_document
from workflows.services.triggers.deliveries import Outgoing, _post
from workflows.tools.challenges import Challenge
from workflows.tools.connections import build_server
from workflows.tools.mcp import session
from workflows.tools.mcp.sign_in.discovery import discover
from workflows.tools.mcp.sign_in.exchanges import open_exchanges
from workflows.tools.openapi.security import Security


__all__ = ["contacts"]  # the fixture

SECRET: Final = "secret-of-a-team"


@pytest.fixture(autouse=True)
def lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up name server of the corpus, and no entry of NET_ALLOW."""
    made = SimpleNamespace(getaddrinfo=resolver, SOCK_STREAM=socket.SOCK_STREAM)
    monkeypatch.setattr(backends, "socket", made)
    monkeypatch.setattr(clients, "_load_allow_list", lambda: clients.parse_allowed(()))


def read_document(url: str) -> None:
    fetch_document(url)


def list_mcp_tools(url: str) -> None:
    server = build_server(url, Security("bearer"), SECRET)
    asyncio.run(session.list_tools(server, 30))


def find_authorization_server(url: str) -> None:
    async def find() -> None:
        server_url = "http://mcp.example.com/mcp"
        async with open_exchanges(server_url) as exchanges:
            await discover(exchanges, server_url, Challenge(metadata_url=url))

    asyncio.run(find())


def embed(url: str) -> None:
    embedder = OpenAICompatible(Options(url=url, key=SECRET, model="m"))
    try:
        embedder.embed(["text"], question=False, seconds=30)
    finally:
        embedder.close()


def measure_memories(url: str) -> None:
    HttpProvider(url, SECRET).measure("team/any")


def deliver(url: str) -> None:
    status, reason = _post(Outgoing(Delivery(), url, SECRET, b"{}"))
    assert status is None
    raise InvalidValue(reason)


CALLERS: Final[tuple[tuple[Callable[[str], None], tuple[type[Exception], ...]], ...]] = (
    (read_document, (InvalidValue,)),
    (list_mcp_tools, (ToolFailed,)),
    (find_authorization_server, (ToolFailed,)),
    (embed, (EmbedderFault, ValueError)),
    (measure_memories, (MemoryFault,)),
    (deliver, (InvalidValue,)),
)


@for_each("call, faults", CALLERS, ids=[call.__name__ for call, _ in CALLERS])
@for_each("url", HOSTILE)
def test_hostile_url_is_refused_without_contact(
    url: str, call: Callable[[str], None], faults: tuple[type[Exception], ...], contacts: list[Any]
) -> None:
    with pytest.raises(faults) as failed:
        call(url)

    assert contacts == []
    assert SECRET not in str(failed.value)
