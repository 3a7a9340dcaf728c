"""Requests to this installation's own addresses say which run makes them; no others do, and nobody else says it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from config import net
from config.net import own_calls
from tests.config.test_net_client import Site, page, serve
from tests.fakes.serving import serving


NAME = own_calls.HEADER.lower()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site(pages={"/": page(b"ok")})
    with serving(serve(site)):
        yield site


def post(site: Site, host: str = "127.0.0.1", path: str = "/", **options: Any) -> None:
    allow = [f"{host}:{site.port}", f"127.0.0.1:{site.port}"]
    with net.build_sync_client(allow=allow, follow_redirects=True) as client:
        client.post(site.url(path, host), **options)


def get_marks(site: Site) -> list[str | None]:
    return [headers.get(NAME) for _method, _path, headers, _body in site.seen]


def test_request_to_an_own_address_has_the_mark_and_only_in_the_block(site: Site) -> None:
    with net.mark_own_calls(lambda: "m1"):
        post(site)
        post(site, headers={own_calls.HEADER: "mine"})
    post(site, headers={own_calls.HEADER: "mine"})

    assert get_marks(site) == ["m1", "m1", None]


def test_request_of_the_asynchronous_client_has_it_too(site: Site) -> None:
    async def send() -> None:
        with net.mark_own_calls(lambda: "m1"):
            async with net.build_client(allow=[f"127.0.0.1:{site.port}"]) as client:
                await client.get(site.url("/"))

    asyncio.run(send())

    assert get_marks(site) == ["m1"]


def test_redirect_to_an_own_address_has_it(site: Site) -> None:
    site.pages["/away"] = page(b"", 302, Location=site.url("/"))

    with net.mark_own_calls(lambda: "m1"):
        post(site, path="/away")

    assert get_marks(site) == ["m1", "m1"]


@pytest.mark.parametrize(
    ("host", "hosts", "expected"),
    [
        ("mnemo.test", ("mnemo.test",), True),
        ("MNEMO.test", ("mnemo.test",), True),
        ("a.mnemo.test", (".mnemo.test",), True),
        ("mnemo.test", (".mnemo.test",), True),
        ("evilmnemo.test", (".mnemo.test", "mnemo.test"), False),
        ("other.test", ("mnemo.test",), False),
        ("[::1]", ("::1",), True),
        ("[::1]", ("[::1]",), True),
        ("mnemo.test.", ("Mnemo.test",), True),
        ("other.test", ("*",), False),
        ("mnemo.test", ("*", "mnemo.test"), True),
        ("localhost", ("*",), True),
        ("127.0.0.1", ("mnemo.test",), False),
    ],
)
def test_own_addresses_are_those_that_the_settings_name(
    host: str, hosts: tuple[str, ...], expected: bool, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = hosts

    assert own_calls.is_own(host) is expected


def test_address_that_names_an_own_host_in_its_header_has_the_mark(
    site: Site, settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["mnemo.test"]

    with net.mark_own_calls(lambda: "m1"):
        post(site)
        post(site, headers={"Host": "mnemo.test:8000"})

    assert get_marks(site) == [None, "m1"]


@pytest.mark.parametrize(
    ("headers", "expected"), [([(NAME.encode(), b"m1")], "m1"), ([(b"x-other", b"x")], "")]
)
def test_server_notes_the_mark_of_a_request(headers: Any, expected: str) -> None:
    marks = []

    async def inner(_scope: Any, _receive: Any, _send: Any) -> None:
        marks.append(net.get_received_mark())

    asyncio.run(net.ReceivedMarks(inner)({"type": "http", "headers": headers}, None, None))  # type: ignore[arg-type]

    assert (marks, net.get_received_mark()) == ([expected], "")
