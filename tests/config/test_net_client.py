"""What the guarded client does with servers it may call: redirects, sizes, time, cookies."""

import asyncio
import gzip
import json
import re
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from config import net
from config.net import bodies, transport
from tests.fakes.serving import serving


MEGABYTE = 1024 * 1024


@dataclass
class Site:
    """A server on loopback whose pages are functions of the handler."""

    pages: dict[str, Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=dict)
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


def serve(site: Site) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            site.seen.append((self.command, self.path, headers, body))
            try:
                site.pages[self.path](self)
            except OSError:
                self.close_connection = True

        do_GET = do_POST = answer  # noqa: N815 - the names are http.server's

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.port = server.server_address[1]
    return server


@pytest.fixture
def site() -> Iterator[Site]:
    yield from _running()


@pytest.fixture
def other() -> Iterator[Site]:
    yield from _running()


def _running() -> Iterator[Site]:
    site = Site()
    with serving(serve(site)):
        yield site


def page(body: bytes, status: int = 200, **headers: str) -> Callable[[Any], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def fetch(site: Site, path: str, method: str = "GET", /, **options: Any) -> httpx2.Response:
    """Both clients must agree; the asynchronous one's answer (or error) is given back."""
    settings = {name: options.pop(name) for name in ("timeout", "max_body", "allow", "resolver",
                                                     "follow_redirects") if name in options}  # fmt: skip
    settings.setdefault("allow", ("127.0.0.1:*",))

    async def asynchronous() -> httpx2.Response:
        async with net.build_client(**settings) as client:
            return await client.request(method, site.url(path), **options)

    try:
        with net.build_sync_client(**settings) as client:
            plain = client.request(method, site.url(path), **options).content
    except httpx2.HTTPError as error:
        with pytest.raises(type(error)):
            asyncio.run(asynchronous())
        raise
    answer = asyncio.run(asynchronous())
    assert plain == answer.content
    return answer


def test_allowed_server_answers(site: Site) -> None:
    site.pages["/"] = page(b"hello")

    answer = fetch(site, "/", content=b"x", headers={"X-Test": "1"})

    assert (answer.status_code, answer.text) == (200, "hello")
    _, _, headers, _ = site.seen[-1]
    assert headers["accept-encoding"] == "identity"
    assert headers["user-agent"] == "mnemoflow"
    assert headers["x-test"] == "1"


@pytest.mark.parametrize(
    ("allow", "may"),
    [
        ("127.0.0.1:{port}", True),
        ("127.0.0.0/8:{port}", True),
        ("127.0.0.0/8:*", True),
        ("127.0.0.1", False),  # opens 80 and 443 only
        ("127.0.0.1:1", False),
        ("10.0.0.0/8:*", False),
        ("localhost:{port}", False),  # a name doesn't open the address for others
    ],
)
def test_entry_opens_what_it_says(site: Site, allow: str, may: bool) -> None:
    site.pages["/"] = page(b"hello")
    entry = allow.format(port=site.port)

    if may:
        assert fetch(site, "/", allow=(entry,)).text == "hello"
    else:
        with pytest.raises(net.AddressRefused, match="NET_ALLOW"):
            fetch(site, "/", allow=(entry,))
        assert site.seen == []


def test_name_is_resolved_once_and_pinned(site: Site) -> None:
    """DNS rebinding: the second answer, which would be somebody's intranet, is never asked for."""
    answers = iter(["127.0.0.1", "10.0.0.5", "10.0.0.5"])
    site.pages["/"] = page(b"pinned")

    def rebinding(host: str, port: int, *_: Any) -> list[Any]:
        return socket.getaddrinfo(next(answers), port, 0, socket.SOCK_STREAM)

    async def get() -> str:
        async with net.build_client(allow=("127.0.0.1:*",), resolver=rebinding) as client:
            return (await client.get(site.url("/", "rebinding.test"))).text

    assert asyncio.run(get()) == "pinned"
    assert next(answers) == "10.0.0.5"
    assert site.seen[-1][2]["host"].startswith("rebinding.test:")


def test_redirect_into_a_forbidden_place_stops_there(site: Site) -> None:
    for target in ("http://169.254.169.254/", "http://10.0.0.1/", "http://[::1]:1/", "file:///x"):
        site.pages["/"] = page(b"", 302, Location=target)

        with pytest.raises((net.AddressRefused, httpx2.UnsupportedProtocol)):
            fetch(site, "/", follow_redirects=True)


def test_redirect_to_a_name_that_turns_inward_stops_there(site: Site) -> None:
    """Each step of the way is looked up and checked by itself, however public the name was before."""
    asked: list[str] = []

    def turning(host: str, port: int, *_: Any) -> list[Any]:
        asked.append(host)
        address = "127.0.0.1" if asked.count(host) == 1 else "10.0.0.5"
        return socket.getaddrinfo(address, port, 0, socket.SOCK_STREAM)

    site.pages["/"] = page(b"", 302, Connection="close", Location=site.url("/", "turning.test"))

    async def get() -> None:
        async with net.build_client(
            allow=("127.0.0.1:*",), resolver=turning, follow_redirects=True
        ) as client:
            await client.get(site.url("/", "turning.test"))

    with pytest.raises(net.AddressRefused, match=r"turning\.test"):
        asyncio.run(get())
    assert asked == ["turning.test"] * 2
    assert len(site.seen) == 1


def test_redirects_are_not_followed_unless_asked(site: Site) -> None:
    site.pages["/"] = page(b"", 302, Location="http://10.0.0.1/")

    assert fetch(site, "/").status_code == 302


def test_five_redirects_are_followed_and_the_sixth_is_not(site: Site) -> None:
    for i in range(7):
        site.pages[f"/{i}"] = page(b"", 302, Location=f"/{i + 1}")
    site.pages["/5"] = page(b"there")

    assert fetch(site, "/0", follow_redirects=True).text == "there"
    site.pages["/5"] = page(b"", 302, Location="/6")
    site.pages["/6"] = page(b"too far")
    with pytest.raises(httpx2.TooManyRedirects):
        fetch(site, "/0", follow_redirects=True)


def test_credentials_stay_home_when_a_redirect_leaves(site: Site, other: Site) -> None:
    site.pages["/"] = page(b"", 302, Location=other.url("/"))
    other.pages["/"] = page(b"there")
    secrets = {"Authorization": "Bearer s", "Cookie": "s=1", "X-Api-Key": "s", "Api-Key": "s"}

    fetch(site, "/", headers=secrets, follow_redirects=True)

    assert site.seen[-1][2]["x-api-key"] == "s"
    arrived = other.seen[-1][2]
    assert not {"authorization", "cookie", "x-api-key", "api-key"} & arrived.keys()
    assert arrived["host"] == f"127.0.0.1:{other.port}"


@pytest.mark.parametrize("status", [307, 308])
def test_body_stays_home_when_a_redirect_leaves(site: Site, other: Site, status: int) -> None:
    site.pages["/"] = page(b"", status, Location=other.url("/"))
    site.pages["/same"] = page(b"", status, Location="/end")
    site.pages["/end"] = page(b"end")
    other.pages["/"] = page(b"stolen")

    with pytest.raises(net.RedirectRefused):
        fetch(site, "/", "POST", content=b"secret", follow_redirects=True)
    assert other.seen == []
    assert fetch(site, "/", "POST", content=b"secret").status_code == status
    assert fetch(site, "/same", "POST", content=b"kept", follow_redirects=True).text == "end"
    assert site.seen[-1][3] == b"kept"


def test_body_over_the_limit_is_cut_off_announced_or_not(site: Site) -> None:
    site.pages["/announced"] = page(b"x" * 2000)

    def unannounced(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        for _ in range(2000):
            handler.wfile.write(b"x" * 1000)
        handler.close_connection = True

    site.pages["/unannounced"] = unannounced

    assert len(fetch(site, "/announced", max_body=2000).content) == 2000
    for path in ("/announced", "/unannounced"):
        with pytest.raises(net.BodyTooLarge):
            fetch(site, path, max_body=1999)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_bomb_is_cut_off_by_its_inflated_size(
    site: Site, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inflated: list[int] = []
    decode = bodies.BodyDecoder._decode

    def counting(decoder: bodies.BodyDecoder, step: bytes) -> Iterator[bytes]:
        for piece in decode(decoder, step):
            inflated.append(len(piece))
            yield piece

    pack = gzip.compress if encoding == "gzip" else zlib.compress
    site.pages["/small"] = page(pack(b"small"), Content_Encoding=encoding)
    site.pages["/bomb"] = page(pack(b"\0" * 200 * MEGABYTE), Content_Encoding=encoding)

    assert fetch(site, "/small").content == b"small"
    monkeypatch.setattr(bodies.BodyDecoder, "_decode", counting)
    with pytest.raises(net.BodyTooLarge):
        fetch(site, "/bomb", max_body=MEGABYTE)
    # Of 200 MB, each of the two clients has inflated no more than one piece too many.
    assert max(inflated) <= bodies.INFLATED_STEP
    assert 2 * MEGABYTE < sum(inflated) <= 2 * (MEGABYTE + bodies.INFLATED_STEP)


def test_compression_that_cannot_be_bounded_is_refused(site: Site) -> None:
    site.pages["/"] = page(b"x", Content_Encoding="br")

    with pytest.raises(net.NetFault, match="was not requested"):
        fetch(site, "/")


def test_broken_compression_is_a_fault_of_ours(site: Site) -> None:
    site.pages["/"] = page(b"not gzip at all", Content_Encoding="gzip")

    with pytest.raises(net.NetFault, match="compression is invalid"):
        fetch(site, "/")


def test_too_many_headers_are_refused(site: Site) -> None:
    site.pages["/many"] = page(b"", 200, **{f"X_{i}": "v" for i in range(120)})
    site.pages["/long"] = page(b"", X_Long="v" * 40_000)

    for path in ("/many", "/long"):
        with pytest.raises(net.HeadersTooLarge):
            fetch(site, path)


class Clock:
    """The clock of the clients' deadlines, which a server moves instead of being slow."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(transport, "time", made)
    return made


def test_body_that_drips_ends_at_the_total_limit(site: Site, clock: Clock) -> None:
    has_given_up = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        for _ in range(200):
            clock.now += 1
            handler.wfile.write(b".")
        has_given_up.wait(90)  # for the end of the body, a client would have to wait as long

    site.pages["/"] = drip

    # Each byte comes soon after the one before.
    try:
        with pytest.raises(net.TimeIsUp):
            fetch(site, "/", timeout=60)
    finally:
        has_given_up.set()


def test_headers_without_an_end_are_left_at_the_total_limit(site: Site, clock: Clock) -> None:
    """Each line comes soon after the one before, and a thread can't be interrupted while it waits."""
    has_given_up = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(200):
            clock.now += 1
            handler.wfile.write(b"X-Line: %d\r\n" % number)
        has_given_up.wait(90)

    site.pages["/"] = drip

    try:
        with (
            net.build_sync_client(allow=("127.0.0.1:*",), timeout=60) as client,
            pytest.raises(net.TimeIsUp),
        ):
            client.get(site.url("/"))
    finally:
        has_given_up.set()


def test_redirects_share_one_time_limit(site: Site, clock: Clock) -> None:
    def slow(handler: BaseHTTPRequestHandler) -> None:
        clock.now += 40
        page(b"", 302, Location="/")(handler)

    site.pages["/"] = slow

    # Each redirect alone is quick enough: with a limit of its own it would be one redirect too many.
    with pytest.raises(net.TimeIsUp):
        fetch(site, "/", timeout=60, follow_redirects=True)


def test_server_that_never_answers_is_left_at_the_idle_limit(site: Site) -> None:
    is_over = threading.Event()

    def keep_silent(_: BaseHTTPRequestHandler) -> None:
        is_over.wait(90)

    site.pages["/"] = keep_silent

    async def get() -> None:
        async with net.build_client(allow=("127.0.0.1:*",), timeout=80, idle=0.05) as client:
            await client.get(site.url("/"))

    try:
        with pytest.raises(httpx2.ReadTimeout):
            asyncio.run(get())
    finally:
        is_over.set()


def test_lookup_that_stalls_ends_at_the_limit_for_connecting() -> None:
    is_over = threading.Event()

    def stall(*_: Any) -> list[Any]:
        is_over.wait(90)
        return []

    async def get() -> None:
        async with net.build_client(resolver=stall, allow=(), timeout=80, connect=0.05) as client:
            await client.get("http://stalled.test/")

    try:
        with pytest.raises(httpx2.ConnectTimeout):
            asyncio.run(get())
    finally:
        is_over.set()


def test_next_address_is_tried_when_one_refuses(site: Site) -> None:
    site.pages["/"] = page(b"hello")

    def two(host: str, port: int, *_: Any) -> list[Any]:
        return [
            answer
            for address in ("::1", "127.0.0.1")
            for answer in socket.getaddrinfo(address, port, 0, socket.SOCK_STREAM)
        ]

    async def get() -> str:
        options: dict[str, Any] = {"allow": ("127.0.0.0/8:*", "[::1]:*"), "resolver": two}
        with net.build_sync_client(**options) as plain:
            assert plain.get(site.url("/", "two.test")).text == "hello"
        async with net.build_client(**options) as client:
            return (await client.get(site.url("/", "two.test"))).text

    assert asyncio.run(get()) == "hello"


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("http://127.0.0.1:8291/mcp", "NET_ALLOW=127.0.0.1:8291."),
        ("http://10.0.0.7/", "NET_ALLOW=10.0.0.7:80."),
        ("https://[fd00::5]:8000/v1", "NET_ALLOW=[fd00::5]:8000."),
        ("https://Models.internal:8443/v1", "NET_ALLOW=models.internal:8443."),
        ("http://my_service:8000/v1", "NET_ALLOW=my_service:8000."),
        ("http://münchen.example:8000/v1", "NET_ALLOW=xn--mnchen-3ya.example:8000."),
        ("http://169.254.169.254/", "No entry of NET_ALLOW opens this one."),
    ],
)
def test_refusal_names_the_entry_that_would_allow_it(url: str, advice: str) -> None:
    with (
        net.build_sync_client(allow=()) as client,
        pytest.raises(net.AddressRefused, match=re.escape(advice)),
    ):
        client.get(url)
    if "NET_ALLOW=" in advice:
        assert net.parse_allowed([advice.partition("=")[2].rstrip(".")]).entries


def test_cookies_are_not_kept(site: Site) -> None:
    site.pages["/"] = page(b"", Set_Cookie="s=1; Path=/")

    async def twice() -> None:
        async with net.build_client(allow=("127.0.0.1:*",)) as client:
            await client.get(site.url("/"))
            await client.get(site.url("/"))

    asyncio.run(twice())

    assert "cookie" not in site.seen[-1][2]


def test_proxy_of_the_environment_is_ignored(
    site: Site, other: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages["/"] = page(json.dumps({"direct": True}).encode())
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, other.url(""))

    assert fetch(site, "/").json() == {"direct": True}
    assert other.seen == []


def test_operators_list_is_read_from_the_environment(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from config import env as module
    from config.net import clients

    site.pages["/"] = page(b"hello")
    monkeypatch.setattr(
        clients, "env", lambda: module.Env(net_allow=(f"127.0.0.1:{site.port}",), _env_file=None)
    )
    clients._load_allow_list.cache_clear()
    try:
        assert fetch(site, "/", allow=None).text == "hello"
    finally:
        clients._load_allow_list.cache_clear()
