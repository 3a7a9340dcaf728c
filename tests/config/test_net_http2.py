"""The guarded clients over HTTP/2: the same limits, redirects and checks as over HTTP/1.1."""

import asyncio
import datetime
import gzip
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from config import net


Headers = list[tuple[str, str]]
Page = tuple[int, Headers, bytes]
MEGABYTE = 1024 * 1024


@dataclass
class Site:
    """A server on loopback that speaks HTTP/2 over TLS, and HTTP/1.1 with nobody."""

    pages: dict[str, Page] = field(default_factory=dict)
    seen: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"https://{host}:{self.port}{path}"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate that signs itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "own.test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def site(certificate: Path) -> Iterator[Site]:
    yield from _running(certificate)


@pytest.fixture
def other(certificate: Path) -> Iterator[Site]:
    yield from _running(certificate)


def _running(certificate: Path) -> Iterator[Site]:
    site = Site()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))
    site.port = listener.getsockname()[1]

    def accept() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_serve, args=(site, context, plain), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield site
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def _serve(site: Site, context: ssl.SSLContext, plain: socket.socket) -> None:
    site.connections += 1
    try:
        with context.wrap_socket(plain, server_side=True) as stream:
            _answer_requests(site, stream)
    except (OSError, h2.exceptions.H2Error):
        pass


def _answer_requests(site: Site, stream: ssl.SSLSocket) -> None:
    state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    state.initiate_connection()
    stream.sendall(state.data_to_send())
    asked: dict[int, dict[str, str]] = {}
    bodies: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    while data := stream.recv(65_536):
        for event in state.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                asked[event.stream_id] = {n.decode(): v.decode() for n, v in event.headers or ()}
                bodies[event.stream_id] = b""
            elif isinstance(event, h2.events.DataReceived):
                bodies[event.stream_id] += event.data or b""
            elif isinstance(event, h2.events.StreamEnded):
                headers = asked[event.stream_id]
                site.seen.append((headers[":method"], headers, bodies[event.stream_id]))
                status, more, body = site.pages[headers[":path"]]
                state.send_headers(event.stream_id, [(":status", str(status)), *more])
                waiting[event.stream_id] = body
        for number in list(waiting):
            waiting[number] = _send_what_fits(state, number, waiting[number])
            if not waiting[number]:
                state.end_stream(number)
                del waiting[number]
        stream.sendall(state.data_to_send())


def _send_what_fits(state: h2.connection.H2Connection, number: int, body: bytes) -> bytes:
    while body and (room := min(state.local_flow_control_window(number), 16_384)):
        state.send_data(number, body[:room])
        body = body[room:]
    return body


def fetch(site: Site, path: str, method: str = "GET", /, **options: Any) -> httpx2.Response:
    """Both clients must agree; the asynchronous one's answer (or error) is given back."""
    settings: dict[str, Any] = {"verify": False, "http2": True, "allow": ("127.0.0.1:*",)}
    for name in ("timeout", "max_body", "allow", "follow_redirects", "http2", "resolver", "verify"):
        if name in options:
            settings[name] = options.pop(name)
    host = options.pop("host", "127.0.0.1")

    async def ask() -> httpx2.Response:
        async with net.build_client(**settings) as client:
            return await client.request(method, site.url(path, host), **options)

    try:
        with net.build_sync_client(**settings) as client:
            plain = client.request(method, site.url(path, host), **options)
    except httpx2.HTTPError as error:
        with pytest.raises(type(error)):
            asyncio.run(ask())
        raise
    answer = asyncio.run(ask())
    assert plain.content == answer.content
    return answer


def test_server_that_chooses_http2_is_spoken_to(site: Site) -> None:
    site.pages["/"] = (200, [("content-type", "text/plain")], b"hello")

    answer = fetch(site, "/", "POST", content=b"question")

    assert (answer.http_version, answer.text) == ("HTTP/2", "hello")
    _, headers, body = site.seen[-1]
    assert headers["accept-encoding"] == "identity"
    assert body == b"question"


def test_client_without_http2_does_not_offer_it(site: Site) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):  # this server understands nothing else
        fetch(site, "/", http2=False)


def test_certificate_of_a_stranger_is_refused(site: Site) -> None:
    site.pages["/"] = (200, [], b"hello")

    with pytest.raises(httpx2.ConnectError, match="certificate"):
        fetch(site, "/", verify=True)
    assert site.seen == []


def test_requests_at_once_share_one_connection(site: Site) -> None:
    for i in range(5):
        site.pages[f"/{i}"] = (200, [], str(i).encode() * 50_000)

    async def ask() -> list[str]:
        settings: dict[str, Any] = {"verify": False, "http2": True, "allow": ("127.0.0.1:*",)}
        async with net.build_client(**settings) as client:
            await client.get(site.url("/0"))
            answers = await asyncio.gather(*(client.get(site.url(f"/{i}")) for i in range(5)))
        return [answer.text for answer in answers]

    assert asyncio.run(ask()) == [str(i) * 50_000 for i in range(5)]
    assert site.connections == 1


def test_name_is_looked_up_once_and_pinned(site: Site) -> None:
    asked: list[str] = []

    def rebinding(host: str, port: int, *_: Any) -> list[Any]:
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "10.0.0.5"
        return socket.getaddrinfo(address, port, 0, socket.SOCK_STREAM)

    site.pages["/"] = (200, [], b"pinned")

    async def ask() -> list[str]:
        settings: dict[str, Any] = {"verify": False, "http2": True, "allow": ("127.0.0.1:*",)}
        async with net.build_client(resolver=rebinding, **settings) as client:
            return [(await client.get(site.url("/", "rebinding.test"))).text for _ in range(3)]

    assert asyncio.run(ask()) == ["pinned"] * 3
    assert asked == ["rebinding.test"]
    assert site.seen[-1][1][":authority"] == f"rebinding.test:{site.port}"


@pytest.mark.parametrize(
    "target",
    [
        "https://169.254.169.254/",
        "https://10.0.0.1/",
        "https://[::1]:1/",
        "https://[fe80::1%25lo]/",
    ],
)
def test_redirect_into_a_forbidden_place_stops_there(site: Site, target: str) -> None:
    site.pages["/"] = (302, [("location", target)], b"")

    with pytest.raises(net.AddressRefused):
        fetch(site, "/", follow_redirects=True)
    assert len(site.seen) == 2  # one of each client


def test_credentials_and_body_stay_home_when_a_redirect_leaves(site: Site, other: Site) -> None:
    site.pages["/moved"] = (302, [("location", other.url("/"))], b"")
    site.pages["/kept"] = (307, [("location", other.url("/"))], b"")
    other.pages["/"] = (200, [], b"there")
    secrets = {"Authorization": "Bearer s", "Cookie": "s=1", "X-Api-Key": "s"}

    assert fetch(site, "/moved", headers=secrets, follow_redirects=True).text == "there"
    assert not {"authorization", "cookie", "x-api-key"} & other.seen[-1][1].keys()
    count = len(other.seen)
    with pytest.raises(net.RedirectRefused):
        fetch(site, "/kept", "POST", content=b"secret", follow_redirects=True)
    assert len(other.seen) == count


def _lying(body: bytes, length: int) -> Page:
    return (200, [("content-length", str(length))], body)


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ((200, [], b"x" * 2 * MEGABYTE), net.BodyTooLarge),
        ((200, [("content-length", str(2 * MEGABYTE))], b"x" * 2 * MEGABYTE), net.BodyTooLarge),
        ((200, [("content-encoding", "gzip")], gzip.compress(b"\0" * 50 * MEGABYTE)), net.BodyTooLarge),
        ((200, [("content-encoding", "br")], b"x"), net.NetFault),
        ((200, [(f"x-{i}", "v") for i in range(120)], b""), net.HeadersTooLarge),
        ((200, [("x-long", "v" * 40_000)], b""), net.HeadersTooLarge),
        (_lying(b"short", 100), httpx2.RemoteProtocolError),
        (_lying(b"longer than it said", 5), httpx2.RemoteProtocolError),
        (_lying(b"x" * 100_000, 200_000), httpx2.RemoteProtocolError),  # found out while the body is read
        (_lying(b"x" * 200_000, 100_000), httpx2.RemoteProtocolError),
    ],
    ids=["long", "announced", "bomb", "brotli", "many-headers", "long-header", "short", "longer", "cut", "more"],
)  # fmt: skip
def test_body_and_headers_are_limited(site: Site, page: Page, fault: type[Exception]) -> None:
    site.pages["/"] = page

    with pytest.raises(fault):
        fetch(site, "/", max_body=MEGABYTE)


def test_fitting_body_arrives_whole(site: Site) -> None:
    site.pages["/"] = (200, [("content-encoding", "gzip")], gzip.compress(b"y" * MEGABYTE))

    assert fetch(site, "/", max_body=MEGABYTE).content == b"y" * MEGABYTE
