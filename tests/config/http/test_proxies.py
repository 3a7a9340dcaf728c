"""Forwarding headers count only if they come from a trusted proxy."""

import asyncio
from typing import Any

import pytest

from config.http.proxies import TrustedProxies, find_network
from tests.support.cases import for_each


PROXIES = ("127.0.0.1", "10.0.0.0/8", "fd00::/8")


def ask(peer: str | None, *headers: tuple[str, str]) -> dict[str, Any]:
    """Return the scope that the application sees."""
    seen: list[dict[str, Any]] = []

    async def note(scope: dict[str, Any], _receive: object, _send: object) -> None:
        seen.append(scope)

    scope = {
        "type": "http",
        "scheme": "http",
        "client": (peer, 4711) if peer else None,
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }
    asyncio.run(TrustedProxies(note, PROXIES)(scope, None, None))
    return seen[0]


FOR = "x-forwarded-for"


@for_each(
    "peer, forwarded, client",
    [
        ("203.0.113.5", ["198.51.100.7"], "203.0.113.5"),  # a client that writes the header itself
        ("127.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("127.0.0.1", ["1.1.1.1, 198.51.100.7"], "198.51.100.7"),  # the client wrote 1.1.1.1
        ("127.0.0.1", ["198.51.100.7, 10.2.3.4"], "198.51.100.7"),  # two proxies
        ("127.0.0.1", ["198.51.100.7", "10.2.3.4"], "198.51.100.7"),  # in two headers
        ("127.0.0.1", ["10.9.9.9, 10.2.3.4"], "10.9.9.9"),
        ("::ffff:127.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("fd00::1", ['"[2001:db8::5]:443"'], "2001:db8::5"),
        ("127.0.0.1", ["198.51.100.7:5000"], "198.51.100.7"),
        ("127.0.0.1", ["198.51.100.7, nonsense"], "127.0.0.1"),
        ("127.0.0.1", [""], "127.0.0.1"),
    ],
)
def test_client_is_the_last_address_that_is_no_trusted_proxy(
    peer: str, forwarded: list[str], client: str
):
    scope = ask(peer, *((FOR, value) for value in forwarded))

    assert scope["client"][0] in (client, f"::ffff:{client}")


@pytest.mark.parametrize(
    ("peer", "protocol", "scheme"),
    [
        ("127.0.0.1", "https", "https"),
        ("127.0.0.1", "http, https", "https"),
        ("127.0.0.1", "javascript", "http"),
        ("203.0.113.5", "https", "http"),
    ],
)
def test_scheme_comes_from_a_trusted_proxy_only(peer: str, protocol: str, scheme: str):
    assert ask(peer, ("x-forwarded-proto", protocol))["scheme"] == scheme


def test_headers_of_others_are_removed():
    scope = ask("203.0.113.5", (FOR, "1.1.1.1"), ("x-real-ip", "1.1.1.1"), ("host", "a.example"))

    assert scope["headers"] == [(b"host", b"a.example")]


def test_request_without_an_address_is_not_trusted():
    assert ask(None, (FOR, "1.1.1.1"))["client"] is None


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", "unknown"),
    ],
)
def test_limits_count_by_network(address: str, network: str):
    assert find_network(address) == network
