"""Hostile addresses, through every client and through a model provider: none is ever contacted.

A contact is a connect() the operating system saw; an audit hook counts those of this process. What the clients do with
servers that they may call is in ``test_net_client`` and ``test_net_http2``.
"""

import socket
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from config import net
from config.net import transport
from config.net.allow import AllowList
from tests.support.cases import for_each
from tests.support.documents import document, end, node, start
from workflows.engine.errors import ModelFailed
from workflows.engine.ports import Message, ModelRequest, Origin
from workflows.engine.testing.backends import InProcessBackend, Request
from workflows.execution.ports.http import GuardedHttp
from workflows.llm.config import ProviderConfig
from workflows.llm.openai_compatible import OpenAICompatible


PUBLIC = "93.184.215.14"

# What the made-up name server says. The mixed records hide one bad address among good ones.
RECORDS: dict[str, list[str]] = {
    "localhost": ["127.0.0.1", "::1"],
    "localtest.test": ["127.0.0.1"],
    "intranet.test": ["10.0.0.5"],
    "mixed4.test": [PUBLIC, "127.0.0.1"],
    "mixed6.test": [PUBLIC, "fd00::1"],
    "mixedlink.test": [PUBLIC, "169.254.169.254"],
    "metadata.google.internal": ["169.254.169.254"],
    "six.test": ["::1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::7f00:1"],
    "nat64link.test": ["64:ff9b::a9fe:a9fe"],
    "6to4.test": ["2002:7f00:1::"],
    "siit.test": ["::ffff:0:7f00:1"],
    "mesh.test": ["200::1"],
    "teredo.test": ["2001:0:7f00:1:0:0:80ff:fffe"],
    "teredoserver.test": ["2001:0:a00:1::1"],
    "mappedlink.test": ["::ffff:169.254.169.254"],
    "zone.test": ["fe80::1%lo"],
    "mixedmapped.test": [PUBLIC, "::ffff:10.0.0.1"],
    "cgnat.test": ["100.64.0.9"],
    "azurewire.test": ["168.63.129.16"],
    "zero.test": ["0.0.0.0"],
    "multicast.test": ["224.0.0.251"],
    "public.test": [PUBLIC],
}

HOSTILE = [
    # loopback by any other spelling
    "http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://2130706433/",
    "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://017700000001/",
    "http://127.000.000.001/", "http://0/", "http://0.0.0.0/", "http://127.255.255.254/",
    "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://127．0．0．1/", "http://127%2e0%2e0%2e1/",
    "http://localhost/", "http://LOCALHOST./", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://localtest.test/",
    "https://127.0.0.1/",
    # IPv6 and what hides inside it
    "http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::]/", "http://[::127.0.0.1]/",
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::ffff:10.0.0.1]/",
    "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[2002:7f00:1::]/",
    "http://[2002:a9fe:a9fe::1]/", "http://[2001:0:7f00:1:0:0:80ff:fffe]/",
    "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fec0::1]/", "http://[fd00::1]/",
    "http://six.test/", "http://mapped.test/", "http://nat64.test/",
    "https://[::1]/", "https://[::1]:8443/", "http://[::0001]/", "http://[::1%25lo]/", "http://[::1%251]/",
    "http://[fe80::1%eth0]/", "http://[fe80::a9fe:a9fe%25eth0]/", "http://[ff02::1%25eth0]/",
    "http://[2606:4700::1111%25eth0]/", "http://[::ffff:0:0]/", "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:100.100.100.200]/", "http://[0:0:0:0:0:ffff:7f00:0001]/", "http://[::ffff:0a00:0001]/",
    "http://[::169.254.169.254]/", "http://[::a00:1]/", "http://[64:ff9b::10.0.0.1]/",
    "http://[64:ff9b:1::7f00:1]/", "http://[64:ff9b:1:ffff::a9fe:a9fe]/", "http://[2002:a00:1::1]/",
    "http://[2002:c0a8:101::]/", "http://[2001::]/", "http://[2001:0:a9fe:a9fe::1]/",
    "http://[2001:0:808:808:0:0:f5ff:fffe]/", "http://[2001:10::1]/", "http://[2001:db8::1]/",
    "http://[3fff::1]/", "http://[5f00::1]/", "http://[100::1]/", "http://[fc00::1]/",
    "http://[fdff:ffff::1]/", "http://[febf::1]/", "http://[feff::1]/", "http://[ff02::1]/",
    "http://[ff0e::1]/", "http://[fd20:ce::254]/", "http://[fd00:ec2::23]/", "http://[::ffff:0.0.0.0]/",
    "http://[::ffff:0:7f00:1]/", "http://[::ffff:0:a9fe:a9fe]/", "http://[200::1]/", "http://[4000::1]/",
    "http://siit.test/", "http://mesh.test/", "http://nat64link.test/", "http://6to4.test/",
    "http://teredo.test/", "http://teredoserver.test/", "http://mappedlink.test/",
    "http://zone.test/",
    # metadata of the clouds
    "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/latest/meta-data/",
    "http://metadata.google.internal/computeMetadata/v1/", "http://100.100.100.200/latest/",
    "http://168.63.129.16/machine", "http://azurewire.test/", "http://192.0.0.192/opc/v2/",
    "http://2852039166/", "http://0xa9fea9fe/",
    # networks that are somebody's own
    "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.1.1/", "http://100.64.0.1/",
    "http://198.18.0.1/", "http://192.0.2.1/", "http://224.0.0.1/", "http://255.255.255.255/",
    "http://intranet.test/", "http://cgnat.test/", "http://zero.test/", "http://multicast.test/",
    # one bad answer among good ones
    "http://mixed4.test/", "http://mixed6.test/", "http://mixedlink.test/",
    "http://mixedmapped.test/",
    # disguises
    "http://public.test@127.0.0.1/", "http://user:password@public.test/", "http://127.0.0.1#@public.test/",
    "http://127.0.0.1\\@public.test/", "http://public.test:80@127.0.0.1:80/", "http:///127.0.0.1/",
    # other schemes, other ports
    "file:///etc/passwd", "gopher://127.0.0.1/_x", "ftp://public.test/", "ws://public.test/",
    "unix:///run/docker.sock", "//127.0.0.1/", "http://public.test:22/", "http://public.test:6379/",
    "http://public.test:8080/", "https://public.test:5432/", "http://public.test:0/",
    "http://public.test:99999/", "http://public.test:0x50/",
]  # fmt: skip

REFUSALS = (net.AddressRefused, httpx2.InvalidURL, httpx2.UnsupportedProtocol)
HTTP_VERSIONS = for_each("http2", [False, True], ids=["http1", "http2"])


class _Contacts:
    """Every connect() since the last reset. An audit hook can't be taken away, only ignored."""

    def __init__(self) -> None:
        self.listening = False
        self.made: list[Any] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.listening and event == "socket.connect":
            self.made.append(arguments[1])


_CONTACTS = _Contacts()


@pytest.fixture
def contacts() -> Iterator[list[Any]]:
    _CONTACTS.made.clear()
    _CONTACTS.listening = True
    yield _CONTACTS.made
    _CONTACTS.listening = False


def resolver(host: str, port: int, *arguments: Any) -> list[Any]:
    answers = RECORDS.get(host.rstrip(".").lower())
    if answers is None:  # numbers in any spelling the C library knows; no name leaves this machine
        return socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, socket.AI_NUMERICHOST)
    return [
        answer
        for address in answers
        for answer in socket.getaddrinfo(
            address, port, 0, socket.SOCK_STREAM, 0, socket.AI_NUMERICHOST
        )
    ]


def test_corpus_has_its_size() -> None:
    assert len(HOSTILE) == len(set(HOSTILE)) >= 128


@HTTP_VERSIONS
@for_each("url", HOSTILE)
async def test_hostile_url_is_refused_by_the_client_without_contact(
    url: str, http2: bool, contacts: list[Any]
) -> None:
    options: dict[str, Any] = {"resolver": resolver, "follow_redirects": True, "http2": http2}
    async with net.build_client(allow=(), **options) as client:
        with pytest.raises(REFUSALS) as refused:
            await client.get(url)

    assert contacts == []
    assert PUBLIC not in str(refused.value)


@HTTP_VERSIONS
@for_each("url", HOSTILE)
def test_hostile_url_is_refused_by_the_sync_client_without_contact(
    url: str, http2: bool, contacts: list[Any]
) -> None:
    with (
        net.build_sync_client(allow=(), resolver=resolver, http2=http2) as client,
        pytest.raises(REFUSALS),
    ):
        client.get(url)

    assert contacts == []


async def test_planted_hole_is_found(contacts: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the corpus: with a guard that lets everything through, it is red.

    pytest-socket lets loopback through and stops the rest, so that loopback in each spelling stands for all.
    """
    monkeypatch.setattr(AllowList, "permits", lambda *_: True)
    monkeypatch.setattr(AllowList, "may_look_up", lambda *_: True)
    found = []
    for url in (
        "http://127.0.0.1:9/",
        "http://localtest.test:9/",
        "http://[::1]:9/",
        "http://0x7f.1:9/",
    ):
        contacts.clear()
        for http2 in (False, True):
            async with net.build_client(allow=(), resolver=resolver, http2=http2) as client:
                with pytest.raises(httpx2.ConnectError):
                    await client.get(url)
            with (
                net.build_sync_client(allow=(), resolver=resolver, http2=http2) as plain,
                pytest.raises(httpx2.ConnectError),
            ):
                plain.get(url)
        found.append(len(contacts))

    assert found == [4] * 4


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://localtest.test:9/"])
async def test_hole_in_the_check_of_urls_is_closed_by_that_of_addresses(
    url: str, contacts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each connection is decided where it is made, whatever the check before it says."""
    monkeypatch.setattr(transport, "check_url", lambda *_: None)
    async with net.build_client(allow=(), resolver=resolver) as client:
        with pytest.raises(net.AddressRefused):
            await client.get(url)
    with (
        net.build_sync_client(allow=(), resolver=resolver) as plain,
        pytest.raises(net.AddressRefused),
    ):
        plain.get(url)

    assert contacts == []


@for_each("url", HOSTILE)
async def test_hostile_url_as_a_models_address_fails_without_contact(
    url: str, contacts: list[Any]
) -> None:
    config = ProviderConfig("acme", base_url=url, api_key="sk-secret-key")
    port = OpenAICompatible(config, allow=(), resolver=resolver)
    request = ModelRequest("acme", "m", (Message("user", "hi"),), Origin("r", "n", "k"))

    with pytest.raises(ModelFailed) as failed:
        _ = [chunk async for chunk in port.stream(request)]

    assert contacts == []
    assert not failed.value.retryable
    assert "sk-secret-key" not in failed.value.message


@for_each("url", HOSTILE)
async def test_hostile_url_in_a_workflow_fails_its_node_without_contact(
    url: str, contacts: list[Any]
) -> None:
    request = node("h", "http-request", method="post", url="{{#start.u#}}", headers="X-Key: canary",
                   body={"type": "json", "data": '{"secret": "canary"}'})  # fmt: skip
    made = document([start("u"), request, end(o=["h", "body"])], ["start -> h", "h -> end"])
    backend = InProcessBackend(http=GuardedHttp(allow=(), resolver=resolver))

    outcome = await backend.run(Request(made, inputs={"u": url}, checked=True))

    assert contacts == []
    assert outcome.status == "failed"
    assert not any(address in str(outcome.error) for address in (PUBLIC, "10.0.0.5", "100.64.0.9"))


@for_each("url",
    [
        "http://169.254.169.254/", "http://[fe80::1]/", "http://100.100.100.200/",
        "http://metadata.google.internal/", "http://mixedlink.test/", "http://168.63.129.16/",
        "http://[::ffff:169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/", "http://zero.test/",
        "http://[2002:a9fe:a9fe::1]/", "http://[2001:0:a9fe:a9fe::1]/", "http://[fe80::1%25eth0]/",
        "http://zone.test/", "http://mappedlink.test/", "http://nat64link.test/", "http://[fd00:ec2::254]/",
    ],
)  # fmt: skip
async def test_no_entry_of_the_operator_opens_metadata(url: str, contacts: list[Any]) -> None:
    allow = (
        "metadata.google.internal:*", "mixedlink.test", "zero.test", "100.64.0.0/10:*",
        "168.63.129.16", "fd00::/8", "10.0.0.0/8", "zone.test", "mappedlink.test", "nat64link.test",
    )  # fmt: skip
    async with net.build_client(allow=allow, resolver=resolver) as client:
        with pytest.raises(net.AddressRefused):
            await client.get(url)

    assert contacts == []


@for_each("entry",
    [
        "169.254.169.254", "169.254.0.0/16", "0.0.0.0/0", "::/0", "fe80::/64", "64:ff9b::/96",
        "127.0.0.1:99999", "127.0.0.1:http", "http://x", "a b", "1.2.3", "10.0.0.0/33", "*",
        "2002::/16", "2001::/32", "::ffff:0:0/96", "::ffff:10.0.0.1", "::/96", "2000::/3", "fe80::1%eth0",
    ],
)  # fmt: skip
def test_entry_that_opens_too_much_or_means_nothing_is_an_error_at_once(entry: str) -> None:
    with pytest.raises(net.NetAllowInvalid, match="NET_ALLOW"):
        net.parse_allowed([entry])


def test_public_name_gets_as_far_as_connecting_to_the_address_that_was_checked() -> None:
    """The control: what is refused above is refused for its address, not because all is."""
    tried: list[str] = []

    def watched(host: str, *arguments: Any) -> list[Any]:
        tried.append(host)
        return resolver(host, *arguments)

    # pytest-socket stops the connection to the public address; our own walls let it pass.
    with (
        net.build_sync_client(allow=(), resolver=watched, timeout=30) as client,
        pytest.raises(Exception, match=PUBLIC.replace(".", r"\.")) as stopped,
    ):
        client.get("http://public.test/")
    assert not isinstance(stopped.value, net.NetFault)
    assert tried == ["public.test"]
