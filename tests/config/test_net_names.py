"""Names that an entry of NET_ALLOW opens: as they are looked up, whatever a person writes."""

import asyncio
import socket
from typing import Any

import pytest

from config import net
from tests.config.test_net_client import Site, page, site


__all__ = ["site"]  # the fixture


@pytest.mark.parametrize(
    ("host", "entry"),
    [
        ("models.test", "models.test"),
        ("my_service", "my_service"),  # as containers are named
        ("münchen.test", "xn--mnchen-3ya.test"),
        ("xn--mnchen-3ya.test", "xn--mnchen-3ya.test"),
    ],
)
def test_name_is_opened_by_its_entry(site: Site, host: str, entry: str) -> None:
    site.pages["/"] = page(b"hello")
    options: dict[str, Any] = {
        "allow": (f"{entry}:{site.port}",),
        "resolver": lambda _host, port, *_: socket.getaddrinfo("127.0.0.1", port),
    }

    async def get() -> str:
        async with net.build_client(**options) as client:
            return (await client.get(site.url("/", host))).text

    with net.build_sync_client(**options) as plain:
        assert plain.get(site.url("/", host)).text == "hello"
    assert asyncio.run(get()) == "hello"
