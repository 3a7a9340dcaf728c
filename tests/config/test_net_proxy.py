"""The operator's proxy: tunnels to checked addresses for what is public, and nothing for anything else."""

import asyncio
import base64
import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from config import net
from config.env import Env
from config.net import clients
from config.net.proxies import Proxy, parse_proxy
from tests.config.test_net_hostile import HOSTILE, PUBLIC, REFUSALS, resolver
from tests.support.cases import for_each


REFUSAL = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
TUNNEL = b"HTTP/1.1 200 Connection established\r\n\r\n"
TLS = b"\x16\x03"
HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"


@dataclass
class FakeProxy:
    """A proxy on loopback that stands for the servers behind it, too."""

    answer: bytes = TUNNEL
    seen: list[bytes] = field(
        default_factory=list
    )  # the head of each request, with those inside of tunnels
    port: int = 0

    def serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            self.seen.append(_read_head(connection))
            connection.sendall(self.answer)
            if self.answer == TUNNEL:
                self.seen.append(_read_head(connection))
                connection.sendall(HELLO)


def _read_head(connection: socket.socket) -> bytes:
    """Return what a client sends up to an empty line, or what it begins TLS with."""
    head = b""
    while not (head.endswith(b"\r\n\r\n") or head.startswith(TLS)) and (
        data := connection.recv(4096)
    ):
        head += data
    return head


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProxy]:
    made = FakeProxy()
    listener = socket.create_server(("127.0.0.1", 0))
    made.port = listener.getsockname()[1]

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=made.serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    monkeypatch.setattr(clients, "_load_proxy", lambda: Proxy("127.0.0.1", made.port))
    yield made
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def fetch(url: str, allow: tuple[str, ...] = ()) -> httpx2.Response:
    """Both clients must agree; the asynchronous one's answer (or error) is given back."""
    options: dict[str, Any] = {"allow": allow, "resolver": resolver}

    async def ask() -> httpx2.Response:
        async with net.build_client(**options) as client:
            return await client.get(url)

    try:
        with net.build_sync_client(**options) as client:
            plain = client.get(url)
    except httpx2.HTTPError as error:
        with pytest.raises(type(error)):
            asyncio.run(ask())
        raise
    answer = asyncio.run(ask())
    assert plain.content == answer.content
    return answer


def test_public_name_is_called_through_a_tunnel_to_its_checked_address(proxy: FakeProxy) -> None:
    assert fetch("http://public.test/path").text == "hello"

    connects, requests = proxy.seen[::2], proxy.seen[1::2]
    assert {head.split(b"\r\n")[0] for head in connects} == {
        f"CONNECT {PUBLIC}:80 HTTP/1.1".encode()
    }
    assert all(b"public.test" not in head for head in connects)
    assert len(requests) == 2
    assert all(head.startswith(b"GET /path HTTP/1.1\r\nHost: public.test\r\n") for head in requests)


def test_https_asks_for_its_port_and_starts_tls_inside(proxy: FakeProxy) -> None:
    with pytest.raises(httpx2.ConnectError):  # what answers inside is no TLS
        fetch("https://public.test/")

    assert proxy.seen[0].startswith(f"CONNECT {PUBLIC}:443 HTTP/1.1\r\n".encode())
    assert b"GET" not in b"".join(proxy.seen)


@for_each("url", HOSTILE)
def test_proxy_hears_nothing_of_hostile_addresses(url: str, proxy: FakeProxy) -> None:
    with (
        net.build_sync_client(allow=(), resolver=resolver) as client,
        pytest.raises(REFUSALS),
    ):
        client.get(url)

    assert proxy.seen == []


def test_what_the_operator_opened_is_called_directly(proxy: FakeProxy) -> None:
    with pytest.raises(httpx2.ConnectError):  # nobody listens at port 1
        fetch("http://127.0.0.1:1/", allow=("127.0.0.1:1",))

    assert proxy.seen == []


@pytest.mark.parametrize(
    "answer",
    [
        REFUSAL,
        b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n",
        b"",
        b"no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"v" * 100_000,
        TUNNEL + HELLO,  # an answer before there was a question
    ],
    ids=["refuses", "wants-password", "redirects", "closes", "nonsense", "endless", "hasty"],
)
def test_proxy_that_opens_no_tunnel_is_an_error_of_its_own(proxy: FakeProxy, answer: bytes) -> None:
    proxy.answer = answer

    with pytest.raises(httpx2.ProxyError):
        fetch("http://public.test/")
    assert all(head.startswith(b"CONNECT ") for head in proxy.seen)


async def test_failure_names_the_proxy_and_says_that_nothing_was_sent(proxy: FakeProxy) -> None:
    proxy.answer = REFUSAL

    with pytest.raises(
        net.ExchangeFailed, match=r"proxy doesn't let 'public\.test' through"
    ) as failed:
        await net.send_request(
            "POST", "http://public.test/", content=b"x", limit=lambda _: 10, max_body=10,
            allow=(), resolver=resolver,
        )  # fmt: skip

    assert (failed.value.is_sent, failed.value.retryable) == (False, True)
    assert PUBLIC not in str(failed.value)


def test_password_goes_to_the_proxy_alone(
    proxy: FakeProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = parse_proxy(f"http://ann:p%40ss@127.0.0.1:{proxy.port}", tls=None)  # type: ignore[arg-type]
    monkeypatch.setattr(clients, "_load_proxy", lambda: made)
    expected = b"Proxy-Authorization: Basic " + base64.b64encode(b"ann:p@ss")

    fetch("http://public.test/")

    assert all(expected in head for head in proxy.seen[::2])
    assert all(b"uthorization" not in head for head in proxy.seen[1::2])
    assert "ann" not in repr(made)


@pytest.mark.parametrize(
    "value",
    ["proxy:3128", "socks5://proxy:1080", "http://", "http://proxy:99999", "http://proxy:1/path"],
)
def test_address_that_is_no_proxy_is_an_error_at_start(value: str) -> None:
    with pytest.raises(ValueError, match="net_proxy"):
        Env(net_proxy=value, _env_file=None)
