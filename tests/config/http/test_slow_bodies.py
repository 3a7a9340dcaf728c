"""Half-sent requests against the whole site, as its server runs it."""

import http.client
import select
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from config.http import body_timeout
from config.http.body_timeout import BodyTimeout
from tests.support.own_server import run_server
from tests.support.waiting import until


SECONDS = 1_000.0  # nobody waits for so long: the clock is moved


def find_layer(application: Any) -> BodyTimeout:
    while not isinstance(application, BodyTimeout):
        application = application._inner
    return application


@pytest.mark.django_db(transaction=True)
def test_site_answers_others_while_bodies_are_half_sent(monkeypatch: pytest.MonkeyPatch):
    from config.asgi import application

    monkeypatch.setattr(find_layer(application), "_seconds", SECONDS)
    begun: list[object] = []

    class CountedExchange(body_timeout._Exchange):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            begun.append(self)

    monkeypatch.setattr(body_timeout, "_Exchange", CountedExchange)
    with run_server(application) as (url, clock):
        address = urlsplit(url)
        lines = [_begin(address.hostname, address.port) for _ in range(50)]
        until(lambda: len(begun) == 50)
        other = http.client.HTTPConnection(address.hostname or "", address.port, timeout=90)
        other.request("GET", "/accounts/login/")
        status = other.getresponse().status
        answered, _, _ = select.select(lines, [], [], 0)  # while the other was served
        clock.let_pass(SECONDS + 1)
        answers = {line.recv(100)[:12] for line in lines}
        for line in lines:
            line.close()
        other.close()

    assert (status, answered, answers) == (200, [], {b"HTTP/1.1 408"})


def _begin(host: str | None, port: int | None) -> socket.socket:
    line = socket.create_connection((host, port), timeout=90)
    head = "POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    line.sendall(f'{head}Content-Length: 900\r\n\r\n{{"in'.encode())
    return line
